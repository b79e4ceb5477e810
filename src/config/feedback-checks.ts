/** Checks of the `feedback` section beyond its schema. */
import type { Config } from './config.js';
import { visionModelOf } from './feedback.js';
import { languageModelOf } from './model.js';
import { costOnly, type Found, modelProblems, placedIn } from './model-checks.js';

export function feedbackProblems(config: Config): readonly Found[] {
  const { feedback } = config;
  if (feedback === undefined) return [];
  return [
    ...readerProblems(config),
    feedback.every > config.iterations && {
      field: 'feedback.every',
      value: feedback.every,
      message: `never comes: there are ${config.iterations} iterations`,
      remedy: 'lower feedback.every or raise iterations',
    },
    config.adapt !== undefined && {
      field: 'feedback',
      message: 'does not go with adapt, which learns from returns alone',
      remedy: 'remove feedback or adapt',
    },
    ...(feedback.from === 'person' ? personProblems(config) : visionProblems(config)),
  ];
}

/** Checks that a model will see the feedback. */
function readerProblems({ memory, model, prompts }: Config): readonly Found[] {
  const isDeaf = model.provider !== 'replayed' && languageModelOf(model) === undefined;
  const { best, recent } = memory;
  const showsNothing = (best ?? recent) !== undefined && (best ?? 0) + (recent ?? 0) === 0;
  return [
    isDeaf && {
      field: 'feedback',
      message: `has no effect: ${model.provider === 'portfolio' ? 'no member reads' : `${model.provider} reads no`} prompts`,
      remedy: 'choose a language model, or remove feedback',
    },
    showsNothing && {
      field: 'feedback',
      message: 'has no effect: prompts show no evaluations, and feedback stands below them',
      remedy: 'show some (memory.recent, memory.best), or remove feedback',
    },
    prompts.set === 'compact' && {
      field: 'feedback',
      message: 'does not go with the prompt set compact, whose models were trained on prompts without it',
      remedy: 'set prompts.set to numeric or semantic, or remove feedback',
    },
  ];
}

function personProblems({ feedback, model, repeats }: Config): readonly Found[] {
  const unused = (['model', 'frames', 'prompts'] as const).map(
    (key): Found =>
      feedback?.[key] !== undefined && {
        field: `feedback.${key}`,
        ...(key !== 'model' && { value: feedback[key] }),
        message: 'has no effect: a person is asked',
        remedy: `remove feedback.${key}, or set feedback.from to vision`,
      },
  );
  return [
    ...unused,
    repeats > 1 &&
      model.provider !== 'replayed' && {
        field: 'feedback.from',
        value: 'person',
        message: `a person is asked by one run, not by ${repeats} repeats: they would know of the others, and the repeats be none`,
        alternatives: ['vision'],
        remedy: 'set repeats to 1, or feedback.from to vision',
      },
  ];
}

function visionProblems(config: Config): readonly Found[] {
  const { feedback, limits, model } = config;
  const seer = visionModelOf(config);
  return [
    feedback?.minutes !== undefined && {
      field: 'feedback.minutes',
      value: feedback.minutes,
      message: 'has no effect: no person is asked',
      remedy: 'remove feedback.minutes; the model has feedback.model.timeoutSeconds',
    },
    seer?.provider === 'local' && {
      field: 'feedback.model',
      message: 'is missing: local models read no pictures',
      alternatives: ['openai', 'ollama', 'a module of yours'],
      remedy: 'add feedback.model, e.g. {provider: ollama, name: "qwen2.5vl:7b"}',
    },
    ...(feedback?.model === undefined || model.provider === 'replayed'
      ? []
      : modelProblems({
          ...config,
          adapt: undefined,
          target: undefined,
          model: feedback.model,
          limits: costOnly(limits, feedback.model),
        }).map((problem) => problem && placedIn(problem, 'feedback.model'))),
  ];
}
