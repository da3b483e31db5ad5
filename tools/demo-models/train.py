#!/usr/bin/env python3
"""Trains one demo network on Fashion-MNIST and exports it to ONNX.

usage: train.py NAME -o NAME.onnx [--epochs N] [--data FOLDER]     NAME: resnet, mobilenet, encoder

The test images are looked at once, after the last epoch: nothing is chosen by them.
"""
import argparse
import time

import torch
from torch import nn

import pictures
from networks import NETWORKS

SEED = 20240229
BATCH = 128
# name: epochs, greatest learning rate, weight decay
SCHEDULES = {"resnet": (8, 4e-3, 2e-2), "mobilenet": (10, 6e-3, 2e-2), "encoder": (20, 4e-3, 2e-2)}


def augment(batch, generator):
    """Each picture mirrored or not, the batch shifted by at most a pixel each way."""
    mirror = torch.rand(len(batch), generator=generator) < 0.5
    batch = torch.where(mirror[:, None, None], batch.flip(2), batch)
    down, right = torch.randint(0, 3, (2,), generator=generator).tolist()
    return nn.functional.pad(batch, (1, 1, 1, 1))[:, down:down + 28, right:right + 28]


def train(network, images, labels, schedule):
    epochs, rate, decay = schedule
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=decay)
    num_steps = epochs * (len(images) // BATCH)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, num_steps)
    generator = torch.Generator().manual_seed(SEED)
    network.train()
    for epoch in range(epochs):
        started, total = time.monotonic(), 0.0
        for chosen in torch.randperm(len(images), generator=generator).split(BATCH):
            if len(chosen) < BATCH:
                continue
            logits = network(augment(images[chosen], generator))
            loss = nn.functional.cross_entropy(logits, labels[chosen], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(f"epoch {epoch + 1}/{epochs}: loss {total * epochs / num_steps:.4f}, "
              f"{time.monotonic() - started:.0f} s", flush=True)


def accuracy(network, images, labels):
    network.eval()
    with torch.no_grad():
        predicted = torch.cat([network(batch).argmax(1) for batch in images.split(500)])
    return (predicted == labels).float().mean().item()


def export(network, path):
    """Opset 17, any batch size N. The mode is kept (eval): TrainingMode.EVAL would fold the batch norms."""
    network.eval()
    torch.onnx.export(network, (torch.zeros(2, 28, 28, dtype=torch.uint8),), path, dynamo=False, opset_version=17,
                      input_names=["pictures"], output_names=["logits"],
                      dynamic_axes={"pictures": {0: "N"}, "logits": {0: "N"}},
                      training=torch.onnx.TrainingMode.PRESERVE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--data", default=pictures.FOLDER)
    args = parser.parse_args()

    torch.set_num_threads(1)  # sums in one order
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    images, labels = (torch.from_numpy(array) for array in pictures.read(args.data, "train"))
    epochs, rate, decay = SCHEDULES[args.name]
    network = NETWORKS[args.name]()
    num_parameters = sum(parameter.numel() for parameter in network.parameters())
    print(f"{args.name}: {num_parameters} parameters", flush=True)
    train(network, images, labels.long(), (args.epochs or epochs, rate, decay))
    export(network, args.output)
    images, labels = (torch.from_numpy(array) for array in pictures.read(args.data, "t10k"))
    print(f"{args.name}: {100 * accuracy(network, images, labels):.2f} % top-1 on {len(images)} test images")


main()
