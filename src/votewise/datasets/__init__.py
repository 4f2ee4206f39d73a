"""Named data: what it is, where it is stored, under which licence. Nothing is read on import."""

from votewise.datasets.catalog import DATASETS as DATASETS
from votewise.datasets.catalog import Dataset as Dataset
from votewise.datasets.catalog import FileState as FileState
from votewise.datasets.catalog import data_folder as data_folder
from votewise.datasets.catalog import file_states as file_states
from votewise.datasets.catalog import find_dataset as find_dataset
from votewise.datasets.cifar10h import load_cifar10h as load_cifar10h
from votewise.datasets.fetching import DownloadError as DownloadError
from votewise.datasets.fetching import fetch as fetch
from votewise.datasets.images import ImageVotes as ImageVotes
from votewise.datasets.images import OutlierImages as OutlierImages
from votewise.datasets.ood import load_cifar100 as load_cifar100
from votewise.datasets.ood import load_svhn as load_svhn
from votewise.datasets.vader import load_vader as load_vader
