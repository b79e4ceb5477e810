/** The critic's messages: what was proposed, and what its episodes show. */
import type { CriticConfig } from '../../config/critic.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ChatMessage } from '../../models/language-model.js';
import type { ParameterSpec } from '../../policies/policy.js';
import type { ParseFailure } from '../../prompting/answer/parse.js';
import { type CriticContext, statisticsContext } from '../../prompting/context/critic-context.js';
import { percent } from '../../prompting/context/failure-context.js';
import type { TaskContext } from '../../prompting/context/prompt-context.js';
import { type ScoreText, scoreTexts } from '../../prompting/context/scores.js';
import { trajectoryRows } from '../../prompting/context/trajectory.js';
import { formatParameters } from '../../prompting/notation/grammar.js';
import type { CriticPrompts } from '../../prompting/templates/prompt-set.js';
import { behaviourOf, medianEpisode } from '../../rollout/behaviour.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { isTable } from '../../search/moves.js';

/** Input of a revision prompt. */
interface RevisionRequest {
  readonly iteration: number;
  readonly iterations: number;
  readonly revised: BufferEntry;
  /** All episodes of `revised`, in order. */
  readonly episodes: readonly EpisodeRecord[];
  /** The best earlier evaluation. */
  readonly best: BufferEntry | undefined;
}

/** Renders revision prompts and corrections. */
export type CriticPrompter = ReturnType<typeof createCriticPrompter>;

/** @param most see `mostChange` */
export function createCriticPrompter(parts: {
  readonly config: Pick<CriticConfig, 'rows' | 'show'>;
  /** `memory.digits` */
  readonly digits: number | undefined;
  readonly environment: EnvironmentSpec;
  readonly spec: ParameterSpec;
  readonly prompts: CriticPrompts;
  readonly task: TaskContext;
  readonly most: number;
}) {
  const { digits, most, prompts, spec, task } = parts;
  return {
    prompt({ best, episodes, iteration, iterations, revised }: RevisionRequest) {
      const scores = [revised.score, ...(best === undefined ? [] : [best.score])];
      const told = scoreTexts(digits, scores);
      const context: CriticContext = {
        ...{ ...task, iterations, iteration, remaining: Math.max(0, iterations - iteration) },
        revised: {
          ...textOf(revised, spec, told),
          best: best === undefined || revised.score >= best.score,
        },
        best: best === undefined ? null : textOf(best, spec, told),
        table: isTable(spec),
        most: most >= 1 ? null : percent(most),
        ...shown(parts, revised, episodes, digits === undefined ? undefined : told),
      };
      const messages: readonly ChatMessage[] = [
        { role: 'system', content: prompts.system(context) },
        { role: 'user', content: prompts.user(context) },
      ];
      return {
        messages,
        formatCorrection: (failure: ParseFailure) => prompts.formatCorrection(context, failure, told),
      };
    },
  };
}

const textOf = ({ parameters, score }: BufferEntry, spec: ParameterSpec, told: ScoreText) => ({
  parameters: formatParameters(parameters, spec),
  score: told(score),
});

function shown(
  { config: { rows, show }, environment }: Parameters<typeof createCriticPrompter>[0],
  { returns }: BufferEntry,
  episodes: readonly EpisodeRecord[],
  returnText: ScoreText | undefined,
): Pick<CriticContext, 'episode' | 'statistics'> {
  const median = medianEpisode(returns);
  return {
    statistics: show === 'median-episode' ? null : statisticsContext(behaviourOf(episodes, environment)),
    episode:
      show === 'statistics'
        ? null
        : {
            ...{ number: median + 1, of: returns.length },
            text: trajectoryRows(episodes[median]!, rows, returnText).join('\n'),
          },
  };
}
