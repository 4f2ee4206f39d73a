"""Training runs on disk: one folder per run, named by its config, complete or absent, readable without torch."""

from votewise.records._folder import DamagedRecordError as DamagedRecordError
from votewise.records.record import JSON as JSON
from votewise.records.record import STATUSES as STATUSES
from votewise.records.record import RunRecord as RunRecord
from votewise.records.record import RunSummary as RunSummary
from votewise.records.record import differences as differences
from votewise.records.record import run_id as run_id
from votewise.records.record import same_result as same_result
from votewise.records.rows import export_runs as export_runs
from votewise.records.rows import in_order as in_order
from votewise.records.store import Fault as Fault
from votewise.records.store import RecordStore as RecordStore
