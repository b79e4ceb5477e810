/** Checks whether answers fit into `maxTokens`, and prompts into each model's context. */

import type { Config } from '../config/config.js';
import { languageModelOf, type SingleModelConfig } from '../config/model.js';
import type { Assembly } from '../experiment/assemble.js';
import { criticModelOf } from '../experiment/critic-parts.js';
import { historyWithin } from '../experiment/proposer.js';
import { plural } from '../format/numbers.js';
import { type Finding, found } from './findings.js';
import type { Contexts, LongestPrompt, PromptForecast, Tokens } from './prompt-forecast.js';

/** The longest prompt of one kind, and the model that reads it. */
interface Read {
  readonly model: SingleModelConfig;
  readonly section: 'model' | 'critic.model';
  readonly prompt: Pick<LongestPrompt, 'answer' | 'corrected' | 'tokens'>;
  /** Context length in tokens; undefined if unknown. */
  readonly context: number | undefined;
  /** The requested answer, e.g. `10 parameters`. */
  readonly answer: string;
  readonly what: string;
  readonly field: string;
  readonly remedy: string;
}

export function lengthFindings(
  { config, family }: Pick<Assembly, 'config' | 'family'>,
  forecast: PromptForecast,
  contexts: Contexts,
): readonly Finding[] {
  const answer =
    family.description.kind === 'program' ? 'a program' : plural(family.parameters.count, 'parameter');
  const all = readsOf(config, answer, forecast, contexts);
  const sections = [...new Set(all.map(({ section }) => section))];
  return sections.flatMap((section) => {
    const own = all.filter((read) => read.section === section);
    return [...answerFindings(own), ...promptFindings(config, own)];
  });
}

function readsOf(
  config: Config,
  answer: string,
  forecast: PromptForecast,
  contexts: Contexts,
): readonly Read[] {
  const { critic } = config;
  const proposes = languageModelOf(config.model);
  const revises = critic && criticModelOf(config);
  const reads: Read[] = [];
  if (proposes !== undefined) {
    const tokens = contexts.model && historyWithin(contexts.model.tokens);
    const less = tokens !== undefined && tokens < (config.memory.tokens ?? 0) ? `=${tokens}` : '';
    reads.push({
      model: proposes,
      section: 'model',
      context: contexts.model?.tokens,
      answer,
      prompt: { ...forecast.longest, answer: forecast.answer },
      field: 'memory.tokens',
      what: 'the longest prompt',
      remedy: `show less (memory.tokens${less}, memory.best, memory.recent), allow fewer corrections, or use a model with a longer context`,
    });
  }
  if (revises !== undefined && forecast.critic !== undefined) {
    reads.push({
      model: revises,
      section: critic?.model === undefined ? 'model' : 'critic.model',
      context: contexts.critic?.tokens,
      answer,
      prompt: forecast.critic,
      field: 'critic.show',
      what: "the critic's longest prompt",
      remedy: 'show less (critic.show, critic.rows), or set critic.model to a model with a longer context',
    });
  }
  return reads;
}

function answerFindings(reads: readonly Read[]): readonly Finding[] {
  const [answering] = reads;
  if (answering === undefined) return [];
  const { answer, model, prompt, section } = answering;
  const { fewest, most } = prompt.answer;
  const maxTokens = maxTokensOf(model);
  if (maxTokens === undefined || most <= maxTokens) return [];
  const never = fewest > maxTokens;
  return [
    {
      level: never ? 'error' : 'warning',
      field: `${section}.maxTokens`,
      value: maxTokens,
      message: `an answer with ${answer} ${never ? `takes at least ${fewest} tokens, so it would be truncated` : `may take about ${most} tokens, so it might be truncated`}`,
      remedy: `set ${section}.maxTokens=${2 * most}${answer === 'a program' ? '' : ', or use fewer parameters'}`,
    },
  ];
}

function promptFindings(config: Config, reads: readonly Read[]): readonly Finding[] {
  const [longest] = reads.toSorted((a, b) => wholeOf(b) - wholeOf(a));
  const { context, prompt, section, what } = longest!;
  const field = section === 'model' ? 'context' : section;
  if (context === undefined) {
    return [
      found(field, `the model's context length is unknown; ${what} takes about ${prompt.tokens.most} tokens`),
    ];
  }
  const long = reads.map((read) => tooLongFinding(config, read, context));
  const findings = long.filter((finding) => finding !== undefined);
  if (findings.length > 0) return findings;
  return [found(field, `${what} and its answer take about ${wholeOf(longest!)} of ${context} tokens`)];
}

/** @returns undefined if the prompt, its answer and all corrections fit */
function tooLongFinding(
  { limits, target }: Pick<Config, 'limits' | 'target'>,
  read: Read,
  context: number,
): Finding | undefined {
  const { field, prompt, remedy, what } = read;
  const reply = replyOf(read);
  const corrected = wholeOf(read);
  if (corrected <= context) return undefined;
  const fewest = prompt.tokens.fewest + Math.min(reply.fewest, reply.most);
  // A target or a limit may end the run before prompts become that long.
  const mayEnd = target !== undefined || Object.keys(limits).length > 0;
  const never = fewest > context && !mayEnd;
  const whole = prompt.tokens.most + reply.most;
  const length = never
    ? `take at least ${fewest} tokens`
    : `may take ${whole} tokens${corrected > whole ? `, ${corrected} with all corrections` : ''}`;
  return {
    level: never ? 'error' : 'warning',
    field,
    message: `${what} and its answer ${length}, but the model's context has only ${context}`,
    remedy,
  };
}

const wholeOf = (read: Read) => read.prompt.corrected + replyOf(read).most;

/** Number of tokens in an answer; `maxTokens` limits `most`. */
function replyOf({ model, prompt: { answer } }: Read): Tokens {
  return { fewest: answer.fewest, most: Math.min(maxTokensOf(model) ?? answer.most, answer.most) };
}

const maxTokensOf = (model: SingleModelConfig) => ('maxTokens' in model ? model.maxTokens : undefined);
