import { type LanguageModel, ModelError } from '../../models/language-model.js';
import { formatParameters } from '../../prompting/notation/grammar.js';
import { createGenerator, type RandomGenerator } from '../../random/generator.js';
import type { Control, Task } from '../../search/control.js';
import type { Switch } from '../../search/switching.js';

/** Proposes parameters: a language model, a baseline (which needs no opening or closing), or a portfolio of them. */
export type Proposer = SingleProposer | Portfolio;

export type SingleProposer = LanguageModel | ControlProposer;

/** Members that take turns over one buffer. */
export interface Portfolio extends Absent<LanguageModel> {
  readonly id: string;
  readonly members: readonly { readonly name: string; readonly proposer: SingleProposer }[];
  readonly choose: Switch;
}

/** The language model of a proposer; undefined if it has only baselines. */
export function languageModelIn(proposer: Proposer): LanguageModel | undefined {
  const singles = 'members' in proposer ? proposer.members.map((member) => member.proposer) : [proposer];
  return singles.find((one) => one.generate !== undefined);
}

interface ControlProposer extends Control, Absent<LanguageModel> {
  readonly id: string;
}

type Absent<T> = { readonly [K in Exclude<keyof T, 'id'>]?: undefined };

/**
 * Wraps a proposer as a language model for one task. A baseline answers in the answer format and draws from
 * the call's seed alone.
 */
export function answering(proposer: SingleProposer, task: Task): LanguageModel {
  if (proposer.generate !== undefined) return proposer;
  const { id, proposeGroup } = proposer;
  const proposeAll = async (randoms: readonly RandomGenerator[]) =>
    proposeGroup === undefined ? [await proposer.propose(task, randoms[0]!)] : proposeGroup(task, randoms);
  return {
    id,
    givesSeveral: proposeGroup !== undefined,
    async generate(_messages, { seeds, signal }) {
      const started = performance.now();
      if (signal?.aborted) {
        throw new ModelError('aborted', `${id}: the call was aborted`, { retries: 0, latencyMs: 0 });
      }
      const group = await proposeAll(seeds.map((seed) => createGenerator(seed)));
      const latencyMs = performance.now() - started;
      return group.map((parameters) => ({
        text: formatParameters(parameters, task.parameters),
        ...{ finishReason: 'stop', usage: {}, latencyMs, retries: 0 },
      }));
    },
  };
}
