"""Targets in, model out."""

from votewise.training.config import TrainConfig as TrainConfig
from votewise.training.loop import build_model as build_model
from votewise.training.loop import predict_probs as predict_probs
from votewise.training.loop import soft_cross_entropy as soft_cross_entropy
from votewise.training.loop import train_classifier as train_classifier
