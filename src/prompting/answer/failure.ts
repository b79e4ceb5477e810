import type { FinishReason } from '../../models/language-model.js';
import type { ParameterVector } from '../../policies/policy.js';
import type { ProgramFailure } from '../../policies/program/program.js';

/** The reason why a reply has no usable parameters; logged, counted and explained to the model, but not thrown. */
export type ParseFailure =
  | { kind: 'missing' }
  | { kind: 'count'; expected: number; found: number; absent: readonly number[]; unknown: readonly number[] }
  /** Some values are outside the range or not among the choices. */
  | { kind: 'range'; values: readonly IndexedText[]; low: number; high: number; choices?: readonly number[] }
  | { kind: 'decimals'; values: readonly IndexedText[]; decimals: number }
  | { kind: 'duplicate-index'; indices: readonly number[] }
  | { kind: 'not-finite'; values: readonly IndexedText[] }
  | ({ kind: 'repeated' } & EarlierUse)
  /** The distance of the revision from the original parameters exceeds the stage's limit. */
  | { kind: 'too-far'; distance: number; most: number }
  /** The program has a syntax error, fails or exceeds a limit when it runs, or an edit doesn't apply. */
  | ({ kind: 'program' } & ProgramFailure)
  /** The reply ends before the answer is complete, usually because of the token limit. */
  | { kind: 'truncated' }
  /** The reply only repeats the prompt's parameters or format example. */
  | { kind: 'echo' };

export type IndexedText = { readonly index: number; readonly text: string };

export type ParseFailureKind = ParseFailure['kind'];

/** The parameters in a reply, with the score that the model predicts if it states one; or why there are none. */
export type ParseResult =
  | { readonly ok: true; readonly value: ParameterVector; readonly predicted?: number }
  | { readonly ok: false; readonly failure: ParseFailure };

export type EarlierUse = {
  readonly iteration?: number;
  readonly score?: number;
  /** Property shared with an earlier policy that isn't identical; `structure` only for programs. */
  readonly same?: 'actions' | 'structure';
  /** Number of episodes in which both policies choose the same actions. */
  readonly episodes?: number;
};

export interface ParseContext {
  /** Finds earlier uses of these parameters: in an evaluation, or in the same iteration. */
  readonly seen?: (parameters: ParameterVector) => EarlierUse | undefined;
  readonly finishReason?: FinishReason;
  /** True if `answerGrammar` was enforced: the list in that form is the answer, regardless of the text around it. */
  readonly constrained?: boolean | undefined;
}

export const failWith = (failure: ParseFailure): ParseResult => ({ ok: false, failure });

/** Creates the failure for parameters that were seen before, with the iteration and score of the earlier ones. */
export const repeatFailure = ({ iteration, score }: EarlierUse): ParseFailure => ({
  kind: 'repeated',
  ...(iteration !== undefined && { iteration }),
  ...(score !== undefined && { score }),
});
