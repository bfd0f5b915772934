# SPDX-License-Identifier: Apache-2.0
"""A folder of the entry's names."""
