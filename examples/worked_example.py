# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 at 224x224 from PyTorch to a simulated program: quantize, confirm, export, compile, run.

Filled in: the calibration set (random images, as no photographs come with the packages: representative data
gives the accuracy), the hardware values, and seeded weights where ImageNet's are neither in torch's cache nor
to be fetched. Writes ccl_build/resnet18_torch/ in the current folder and prints the simulator's report.
"""

import socket
import sys
from urllib.error import URLError

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import FakeData
from torchvision.models import resnet18
from torchvision.transforms import Compose, Normalize, ToTensor

import tvm
import tvm.relay.backend.contrib.epu.codegen as epu_codegen
import tvm.relay.backend.contrib.epu.util as epu_utils
from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    generate_quant_config,
    quantize_model,
    validate_model_export_ready,
)
from tvm.contrib.epu.chipy import Tensor, export

torch.manual_seed(0)
socket.setdefaulttimeout(10)  # offline, the download below is to fail soon

## What the example leaves open: data, weights, hardware
normalize = Compose([ToTensor(), Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
calibration_dataset = FakeData(size=64, image_size=(3, 224, 224), num_classes=1000, transform=normalize)
try:
    model = resnet18(weights="IMAGENET1K_V1").eval()
except (URLError, OSError) as problem:
    print(f"no ImageNet weights here ({problem}): a seeded, untrained ResNet-18 stands in", file=sys.stderr)
    model = resnet18(weights=None).eval()
ARRAY_SIZE = 16
MACS_PER_PE = 8
OCM_SIZE = 4 * 1024 * 1024
LRM_SIZE = 4096
NUM_CORES = 1

## Step 1: quantize
fold_batchnorm(model)
tag_all_modules(model)
config = generate_quant_config(model)
config["defaults"].update(
    int8_matmul=True,
    quantize_output=True,
    w_per_channel=False,
)
quantize_model(model, config)
run_calibration(model, DataLoader(calibration_dataset, batch_size=32), num_batches=50)
freeze_model_weights(model)

## Step 2: confirm the export-ready state
validate_model_export_ready(model)

## Step 3: export
relay_mod = export(
    model,
    x=Tensor(shape=(1, 3, 224, 224), dtype="float32"),
)

## Step 4: compile
target = tvm.target.epu(
    model="",
    array_size=ARRAY_SIZE,
    macs_per_pe=MACS_PER_PE,
    ocm_size=OCM_SIZE,
    lrm_size=LRM_SIZE,
    num_cores=NUM_CORES,
)
with target, epu_utils.add_epu_passcontext_attributes():
    module = epu_codegen.build_relay(relay_mod, module_name="resnet18_torch")

## Run it on the simulator, beside the PyTorch module
image = calibration_dataset[0][0].unsqueeze(0)
print("cross-compiling and simulating ...", file=sys.stderr)
simulated = module.run({"x": image.numpy()})["out_0"]
with torch.no_grad():
    expected = model(image).numpy()
print(module.report.text)
print(f"source: {epu_codegen.get_module_source_path('resnet18_torch')}")
print(f"build:  {epu_codegen.get_module_build_path('resnet18_torch')}")
differing = sum(a != b for a, b in zip(simulated.tobytes(), expected.tobytes(), strict=True))
print(f"differing bytes, simulator against the PyTorch int8 module: {differing} of {expected.nbytes}")
sys.exit(differing != 0)
