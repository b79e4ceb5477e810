import type { CriticConfig } from '../../../config/critic.js';
import type { EnvironmentSpec } from '../../../environments/environment.js';
import type { ChatMessage } from '../../../models/language-model.js';
import type { ParameterSpec } from '../../../policies/policy.js';
import type { ParseFailure } from '../../../prompting/answer/failure.js';
import { percentText } from '../../../prompting/context/failure-context.js';
import type { TaskContext } from '../../../prompting/context/prompt-context.js';
import { type ScoreFormat, scoreFormatFor } from '../../../prompting/context/scores.js';
import { trajectoryRows } from '../../../prompting/context/trajectory.js';
import type { Encoding } from '../../../prompting/notation/encoding.js';
import type { PromptRenderer } from '../../../prompting/templates/prompt-set.js';
import { isUnordered } from '../../../proposers/moves.js';
import { behaviorOf, medianEpisodeIndex } from '../../../rollout/behavior.js';
import type { EpisodeRecord } from '../../../rollout/episode.js';
import type { BufferEntry } from '../../../rollout/replay-buffer.js';
import { type CriticContext, statisticsContext } from './context.js';

/** Largest allowed distance between a proposal and its revision, in [0, 1]. In a table, one entry may always change. */
export const maxChange = (share: number, spec: ParameterSpec): number =>
  isUnordered(spec) ? Math.max(share, 1 / spec.count) : share;

interface RevisionRequest {
  readonly iteration: number;
  readonly iterations: number;
  readonly revised: BufferEntry;
  /** All episodes of `revised`, in order. */
  readonly episodes: readonly EpisodeRecord[];
  readonly best: BufferEntry | undefined;
}

export type CriticPrompter = ReturnType<typeof createCriticPrompter>;

export function createCriticPrompter(parts: {
  readonly config: Pick<CriticConfig, 'rows' | 'show'>;
  readonly environment: EnvironmentSpec;
  readonly encoding: Encoding;
  readonly prompts: PromptRenderer<CriticContext>;
  readonly task: TaskContext;
  readonly maxDistance: number;
}) {
  const { encoding, maxDistance, prompts, task } = parts;
  return {
    prompt({ best, episodes, iteration, iterations, revised }: RevisionRequest) {
      const asText = scoreFormatFor([revised.score, ...(best === undefined ? [] : [best.score])]);
      const context: CriticContext = {
        ...task,
        iterations,
        iteration,
        remaining: Math.max(0, iterations - iteration),
        revised: {
          ...textOf(revised, encoding, asText),
          best: best === undefined || revised.score >= best.score,
        },
        best: best === undefined ? null : textOf(best, encoding, asText),
        table: isUnordered(encoding.spec),
        most: maxDistance >= 1 ? null : percentText(maxDistance),
        ...episodeContext(parts, revised, episodes, asText),
      };
      const messages: readonly ChatMessage[] = [
        { role: 'system', content: prompts.system(context) },
        { role: 'user', content: prompts.user(context) },
      ];
      return {
        messages,
        formatCorrection: (failure: ParseFailure) => prompts.formatCorrection(context, failure, asText),
      };
    },
  };
}

const textOf = ({ parameters, score }: BufferEntry, encoding: Encoding, asText: ScoreFormat) => ({
  parameters: encoding.text(parameters),
  score: asText(score),
});

function episodeContext(
  { config: { rows, show }, environment }: Parameters<typeof createCriticPrompter>[0],
  { returns }: BufferEntry,
  episodes: readonly EpisodeRecord[],
  returnText: ScoreFormat,
): Pick<CriticContext, 'episode' | 'statistics'> {
  const median = medianEpisodeIndex(returns);
  return {
    statistics: show === 'median-episode' ? null : statisticsContext(behaviorOf(episodes, environment)),
    episode:
      show === 'statistics'
        ? null
        : {
            number: median + 1,
            of: returns.length,
            text: trajectoryRows(episodes[median]!, rows, returnText).join('\n'),
          },
  };
}
