/** Asks a model for the first proposal of a run, as the run will ask: once, without a correction. */
import { languageModelOf } from '../config/model.js';
import type { Assembly } from '../experiment/assemble.js';
import { randomPolicies } from '../experiment/evaluate.js';
import { ledgerOf } from '../experiment/parts.js';
import { Prompter } from '../experiment/prompter.js';
import { branches, noveltyOf, propose } from '../experiment/propose.js';
import type { LanguageModel } from '../models/language-model.js';
import { answerFormOf } from '../prompting/notation/grammar.js';
import { tellingOf } from '../prompting/notation/telling.js';
import { createGenerator } from '../random/generator.js';
import { callSeed } from '../random/seeds.js';
import { type BufferEntry, createReplayBuffer } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import { nothingRecorded } from '../runs/reader.js';
import { madeUpRun } from './made-up-run.js';

/**
 * @returns its call, judged as a run would; undefined where a limit leaves no room for it
 * @throws ModelError where asking again is pointless, and when aborted
 */
export async function firstProposal(
  assembly: Assembly,
  model: LanguageModel,
  signal: AbortSignal,
): Promise<CallRecord | undefined> {
  const { config, family } = assembly;
  const entries = madeUpWarmUp(assembly);
  const { episode } = madeUpRun(assembly, 'narrow');
  const episodes = entries.map(({ candidate }) => ({ ...episode, candidate }));
  const buffer = createReplayBuffer(entries);
  const prompter = new Prompter({ ...assembly, buffer, recorded: { ...nothingRecorded, episodes } });
  const branch = branches({ config, prompter }, 1);
  let asked: CallRecord | undefined;
  await propose({
    ...prompter.prompt(1),
    ...(branch && { branch }),
    ...noveltyOf({ buffer, config, setting: { family } }, 1),
    ...{ iteration: 1, candidates: 1, corrections: 0, concurrency: 1 },
    by: () => ({ model }),
    parameters: family.parameters,
    form: answerFormOf(languageModelOf(config.model), config.prompts),
    telling: tellingOf(family.parameters, config.prompts.set),
    seed: (candidate, attempt) => callSeed(config.seed, 1, candidate, attempt),
    recorded: () => undefined,
    ledger: ledgerOf(assembly),
    signal,
    now: () => new Date(0),
    onCall: (call) => {
      asked = call;
    },
  });
  return asked;
}

/** The policies of the warm-up, with scores that are made up: nothing is played. */
function madeUpWarmUp({ config, family, imported }: Assembly): readonly BufferEntry[] {
  const { seed } = config;
  const random = createGenerator(seed);
  return [...imported, ...randomPolicies({ config, imported, seed, setting: { family } })].map(
    (parameters, candidate) => {
      const score = Number(random.uniform(0, 100).toFixed(2));
      const place = { iteration: 0, group: 0, candidate, source: 'warm-up' } as const;
      return { ...place, parameters, returns: [score], lengths: [1], score };
    },
  );
}
