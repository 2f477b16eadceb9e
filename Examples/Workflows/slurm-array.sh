#!/usr/bin/env bash
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
# Several nodes share one folder of slides and one of results, on a file system that all of them see:
#   sbatch slurm-array.sh SLIDES RESULTS
# Each task is given the same command: what one of them works on is locked, so that nothing is done twice, and what a
# node that is gone has left is taken over. A task that is started again goes on. See "gigapixel status RESULTS".
#SBATCH --job-name=gigapixel
#SBATCH --array=1-8
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --requeue
set -euo pipefail
slides=${1:?usage: sbatch slurm-array.sh SLIDES RESULTS}
results=${2:?usage: sbatch slurm-array.sh SLIDES RESULTS}
exec "${GIGAPIXEL:-gigapixel}" label "$slides" -o "$results" --threads "${SLURM_CPUS_PER_TASK:-0}" --quiet
