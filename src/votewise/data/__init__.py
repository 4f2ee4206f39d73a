"""What is trained on: users' own data and named data sets. Nothing is read on import.

`open_features`, `open_images` or `open_texts` opens inputs, and `open_inputs` any of them; `join_inputs` matches them
with votes, which gives a `Dataset`, and `prepare` turns it into the arrays that a model takes. `load_chaosnli`,
`load_cifar10h`, `load_lewidi`, `load_popquorn` and `load_vader` give a `Dataset`.
"""

from votewise.data.chaosnli import load_chaosnli as load_chaosnli
from votewise.data.cifar10h import load_cifar10h as load_cifar10h
from votewise.data.dataset import Dataset as Dataset
from votewise.data.dataset import Prepared as Prepared
from votewise.data.dataset import prepare as prepare
from votewise.data.fetching import DownloadError as DownloadError
from votewise.data.fetching import fetch as fetch
from votewise.data.images import open_images as open_images
from votewise.data.inputs import InputForm as InputForm
from votewise.data.inputs import InputSource as InputSource
from votewise.data.items import item_data as item_data
from votewise.data.joining import join_inputs as join_inputs
from votewise.data.lewidi import load_lewidi as load_lewidi
from votewise.data.outliers import Outliers as Outliers
from votewise.data.outliers import load_cifar100 as load_cifar100
from votewise.data.outliers import load_svhn as load_svhn
from votewise.data.own import open_inputs as open_inputs
from votewise.data.own import read_own_data as read_own_data
from votewise.data.popquorn import load_popquorn as load_popquorn
from votewise.data.releases import RELEASES as RELEASES
from votewise.data.releases import FileState as FileState
from votewise.data.releases import Release as Release
from votewise.data.releases import data_folder as data_folder
from votewise.data.releases import find_release as find_release
from votewise.data.releases import release_file_states as release_file_states
from votewise.data.tables import open_features as open_features
from votewise.data.texts import open_texts as open_texts
from votewise.data.vader import load_vader as load_vader
