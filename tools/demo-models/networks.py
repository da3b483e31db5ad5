"""The three demo networks. Each takes raw pictures, u8 of shape [N, 28, 28], and gives f32 logits
[N, 10]: the scaling to 0..1 is in the graph, so that data files need no preparation."""
import torch
from torch import nn


def raw_to_unit(pictures):
    """u8 [N, 28, 28] -> f32 [N, 1, 28, 28] in 0..1. Background stays 0, so zero padding is black."""
    return pictures.float().unsqueeze(1) * (1.0 / 255.0)


def conv_bn(inputs, outputs, kernel, stride=1, groups=1):
    """Convolution without bias and its batch norm; 'same' padding for odd kernels."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs))


class ResidualBlock(nn.Module):
    """conv-bn-relu-conv-bn, added to the input (or its 1x1 projection), relu."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = conv_bn(inputs, outputs, 3, stride)
        self.second = conv_bn(outputs, outputs, 3)
        same_shape = stride == 1 and inputs == outputs
        self.shortcut = None if same_shape else conv_bn(inputs, outputs, 1, stride)

    def forward(self, x):
        y = self.second(torch.relu(self.first(x)))
        return torch.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Resnet(nn.Module):
    """Stem and four residual blocks: 16x14x14, 32x7x7 (twice), 48x4x4."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(1, 16, 3, 2)
        self.blocks = nn.Sequential(ResidualBlock(16, 16, 1), ResidualBlock(16, 32, 2),
                                    ResidualBlock(32, 32, 1), ResidualBlock(32, 48, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(48, 10)

    def forward(self, pictures):
        x = self.blocks(torch.relu(self.stem(raw_to_unit(pictures))))
        return self.classify(self.pool(x).flatten(1))


class SqueezeExcite(nn.Module):
    """Scales each channel by a gate in 0..1 that sees the channels' means."""

    def __init__(self, channels):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.squeeze = nn.Conv2d(channels, channels // 4, 1)
        self.excite = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        gate = self.excite(torch.relu(self.squeeze(self.pool(x))))
        return x * nn.functional.hardsigmoid(gate)


class InvertedResidual(nn.Module):
    """1x1 expansion, 3x3 depthwise, squeeze-and-excite, linear 1x1 projection."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        self.expand = conv_bn(inputs, hidden, 1)
        self.depthwise = conv_bn(hidden, hidden, 3, stride, groups=hidden)
        self.gate = SqueezeExcite(hidden)
        self.project = conv_bn(hidden, outputs, 1)
        self.adds_input = stride == 1 and inputs == outputs

    def forward(self, x):
        y = nn.functional.hardswish(self.expand(x))
        y = self.gate(nn.functional.hardswish(self.depthwise(y)))
        y = self.project(y)
        return x + y if self.adds_input else y


class Mobilenet(nn.Module):
    """Stem and four inverted residuals: 16x14x14, 24x7x7 (three times)."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(1, 16, 3, 2)
        self.blocks = nn.Sequential(
            InvertedResidual(16, 16, 1, 2), InvertedResidual(16, 24, 2, 4), InvertedResidual(24, 24, 1, 4),
            InvertedResidual(24, 24, 1, 4))
        self.head = conv_bn(24, 96, 1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.hidden = nn.Linear(96, 128)
        self.classify = nn.Linear(128, 10)

    def forward(self, pictures):
        x = self.blocks(nn.functional.hardswish(self.stem(raw_to_unit(pictures))))
        x = self.pool(nn.functional.hardswish(self.head(x))).flatten(1)
        return self.classify(nn.functional.hardswish(self.hidden(x)))


class Attention(nn.Module):
    """Multi-head self-attention, written with matmuls so that the graph shows them."""

    def __init__(self, tokens, width, heads):
        super().__init__()
        self.tokens, self.width, self.heads = tokens, width, heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split(self, x):
        return x.reshape(-1, self.tokens, self.heads, self.width // self.heads).transpose(1, 2)

    def forward(self, x):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-2, -1) * (self.width // self.heads) ** -0.5
        mixed = torch.softmax(scores, -1) @ value
        return self.output(mixed.transpose(1, 2).reshape(-1, self.tokens, self.width))


class EncoderLayer(nn.Module):
    """Attention and a two-layer perceptron with exact GELU, layer norm before each."""

    def __init__(self, tokens, width, heads, hidden):
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(tokens, width, heads)
        self.norm_perceptron = nn.LayerNorm(width)
        self.perceptron = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x):
        x = x + self.attention(self.norm_attention(x))
        return x + self.perceptron(self.norm_perceptron(x))


class Encoder(nn.Module):
    """7x7 overlapping patches of 7x7 pixels, three encoder layers of width 48, mean over tokens."""

    WIDTH, TOKENS = 48, 49

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(1, self.WIDTH, 7, 4, 3)
        self.position = nn.Parameter(0.02 * torch.randn(1, self.TOKENS, self.WIDTH))
        self.layers = nn.Sequential(*(EncoderLayer(self.TOKENS, self.WIDTH, 3, 96) for _ in range(3)))
        self.norm = nn.LayerNorm(self.WIDTH)
        self.classify = nn.Linear(self.WIDTH, 10)

    def forward(self, pictures):
        x = self.embed(raw_to_unit(pictures)).reshape(-1, self.WIDTH, self.TOKENS)
        x = x.transpose(1, 2) + self.position
        return self.classify(self.norm(self.layers(x)).mean(1))


NETWORKS = {"resnet": Resnet, "mobilenet": Mobilenet, "encoder": Encoder}
