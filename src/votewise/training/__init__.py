"""Train models on delivered votes: the plain loop, the engine for many runs, and saved models."""

from votewise.training.batches import Inputs as Inputs
from votewise.training.checkpoint import ModelConfig as ModelConfig
from votewise.training.checkpoint import load_model as load_model
from votewise.training.checkpoint import save_model as save_model
from votewise.training.config import TrainConfig as TrainConfig
from votewise.training.engine import train_jobs as train_jobs
from votewise.training.loop import build_model as build_model
from votewise.training.loop import predict_logits as predict_logits
from votewise.training.loop import predict_probs as predict_probs
from votewise.training.loop import soft_cross_entropy as soft_cross_entropy
from votewise.training.loop import train_classifier as train_classifier
from votewise.training.runs import Job as Job
from votewise.training.runs import Trained as Trained
from votewise.training.runs import train_job as train_job
