/** Whether answers fit into what the model may write, and prompts into what it takes. */
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import type { Assembly } from '../experiment/assemble.js';
import { type Finding, found } from './findings.js';
import type { PromptForecast } from './prompt-forecast.js';

/** @param context tokens that the model takes; undefined where that is not known */
export function lengthFindings(
  { config, family }: Pick<Assembly, 'config' | 'family'>,
  forecast: PromptForecast,
  context: number | undefined,
): readonly Finding[] {
  const { answer, longest } = forecast;
  const reader = languageModelOf(config.model);
  const maxTokens = reader && 'maxTokens' in reader ? reader.maxTokens : undefined;
  const cut = maxTokens === undefined ? [] : answerFindings(answer, maxTokens, family.parameters.count);
  if (context === undefined) {
    const unknown = `the model's context is not known; the longest prompt takes about ${longest.tokens.most} tokens`;
    return [...cut, found('context', unknown)];
  }
  const reply = { fewest: answer.fewest, most: Math.min(maxTokens ?? answer.most, answer.most) };
  const { demonstrations, feedback } = config;
  const steps = demonstrations === undefined ? '' : ', demonstrations.steps';
  const tooLong: readonly (Finding | undefined)[] = [
    tooLongFinding(config, longest, reply, context, {
      field: 'memory.tokens',
      what: 'the longest prompt and its answer',
      remedy: `show less (memory.tokens, memory.best, memory.recent${steps}), allow fewer corrections or turns, or use a model with a longer context`,
    }),
    // A model of their own has another context.
    config.critic?.model === undefined && forecast.critic !== undefined
      ? tooLongFinding(config, forecast.critic, reply, context, {
          field: 'critic.show',
          what: 'the longest prompt of the critic and its answer',
          remedy: 'show less (critic.show, critic.rows), or give critic.model a model with a longer context',
        })
      : undefined,
    feedback?.model === undefined && forecast.feedback !== undefined
      ? tooLongFinding(config, forecast.feedback, reply, context, {
          field: 'feedback.frames',
          what: 'the longest question of feedback and its answer',
          remedy: 'show fewer feedback.frames, or give feedback.model a model with a longer context',
        })
      : undefined,
  ];
  const long = tooLong.filter((finding) => finding !== undefined);
  const fits = `the longest prompt and its answer take about ${longest.corrected + reply.most} of ${context} tokens`;
  return [...cut, ...(long.length === 0 ? [found('context', fits)] : long)];
}

function answerFindings(
  { fewest, most }: PromptForecast['answer'],
  maxTokens: number,
  count: number,
): readonly Finding[] {
  if (most <= maxTokens) return [];
  const never = fewest > maxTokens;
  return [
    {
      level: never ? 'error' : 'warning',
      field: 'model.maxTokens',
      value: maxTokens,
      message: `an answer of ${count} parameters ${never ? `takes at least ${fewest}` : `may take about ${most}`} tokens, and would be cut`,
      remedy: `model.maxTokens=${2 * most}, or fewer parameters`,
    },
  ];
}

/** @returns undefined where the prompt, its answer and all corrections fit */
function tooLongFinding(
  { limits, target }: Pick<Config, 'limits' | 'target'>,
  prompt: Pick<PromptForecast['longest'], 'corrected' | 'tokens'>,
  reply: PromptForecast['answer'],
  context: number,
  { field, remedy, what }: { readonly field: string; readonly remedy: string; readonly what: string },
): Finding | undefined {
  const corrected = prompt.corrected + reply.most;
  if (corrected <= context) return undefined;
  const fewest = prompt.tokens.fewest + Math.min(reply.fewest, reply.most);
  // A target or a limit may end the run before its prompts are that long.
  const mayEnd = target !== undefined || Object.keys(limits).length > 0;
  const never = fewest > context && !mayEnd;
  const length = never
    ? `take at least ${fewest} tokens`
    : `may take ${prompt.tokens.most + reply.most} tokens, ${corrected} with all corrections`;
  return {
    level: never ? 'error' : 'warning',
    field,
    message: `${what} ${length}, but the model's context has ${context}`,
    remedy,
  };
}
