import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import type { Objective } from '../../engine/objective.js';
import type { Trainable } from '../../engine/trainable.js';
import { buildTrainingGraph } from '../../engine/training-graph.js';
import { openTrainingSession, type TrainingSession } from '../../engine/training-session.js';

/**
 * Opens a session that trains or evaluates an objective.
 * @throws UserError if memory runs out
 */
export function openObjective(
  { config, trainable, device, threads }: LearningGraph,
  purpose: 'train' | 'evaluate',
  objective: Objective,
): Promise<TrainingSession> {
  const graph = buildTrainingGraph({ config, trainable, objective, precision: 'float32', purpose, device });
  return openTrainingSession(graph, { device, threads, optimize: true });
}

interface LearningGraph {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  readonly device: string;
  readonly threads: number;
}
