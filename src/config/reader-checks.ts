/** Checks of the `critic` section beyond its schema. */
import { findControl } from '../search/controls.js';
import type { Config } from './config.js';
import { visionModelOf } from './feedback.js';
import { languageModelOf } from './model.js';
import { costOnly, type Found, modelProblems, placedIn } from './model-checks.js';

export function criticProblems(config: Config): readonly Found[] {
  const { adapt, critic, limits, memory, model } = config;
  if (critic === undefined) {
    return [
      memory.revisions !== undefined && {
        field: 'memory.revisions',
        value: memory.revisions,
        message: 'has no effect: nothing is revised without a critic',
        remedy: 'remove it, or add a section critic',
      },
    ];
  }
  const own = critic.model;
  const nobody = own === undefined && model.provider !== 'replayed' && languageModelOf(model) === undefined;
  const isControl = own !== undefined && findControl(own.provider) !== undefined;
  return [
    nobody && {
      field: 'critic.model',
      message: `is missing: ${model.provider} reads no prompts, so nobody could revise`,
      remedy:
        'add critic.model, a language model or, to compare with, a control; critic= leaves the critic out',
    },
    adapt !== undefined && {
      field: 'critic',
      message:
        'does not go with adapt: a revision answers another prompt than the proposals that are learnt from',
      remedy: 'remove critic or adapt',
    },
    critic.every > config.iterations && {
      field: 'critic.every',
      value: critic.every,
      message: `never comes: there are ${config.iterations} iterations`,
      remedy: 'lower critic.every or raise iterations',
    },
    isControl &&
      critic.show !== 'both' && {
        field: 'critic.show',
        value: critic.show,
        message: `has no effect: ${own.provider} looks at scores alone`,
        remedy: 'remove critic.show',
      },
    memory.ofGroup !== undefined &&
      memory.revisions === 'all' && {
        field: 'memory.revisions',
        value: 'all',
        message: 'does not go with memory.ofGroup, which holds one evaluation an iteration',
        remedy: 'remove one of the two',
      },
    ...(own === undefined || isControl
      ? []
      : modelProblems({
          ...config,
          adapt: undefined,
          target: undefined,
          model: own,
          limits: costOnly(limits, own),
        }).map((problem) => problem && placedIn(problem, 'critic.model'))),
  ];
}

/** Checks of the `feedback` section beyond its schema. */

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
