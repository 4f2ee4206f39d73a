"""Named data: what it is, where it lies, under which licence. Nothing is read on import."""

from votewise.datasets.catalog import DATASETS as DATASETS
from votewise.datasets.catalog import Dataset as Dataset
from votewise.datasets.catalog import FileState as FileState
from votewise.datasets.catalog import data_folder as data_folder
from votewise.datasets.catalog import file_states as file_states
from votewise.datasets.catalog import find_dataset as find_dataset
from votewise.datasets.vader import load_vader as load_vader
