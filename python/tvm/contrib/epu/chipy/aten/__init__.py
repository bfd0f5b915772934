# SPDX-License-Identifier: Apache-2.0
"""One file per ATen overload; each registers its converter by the full name."""
