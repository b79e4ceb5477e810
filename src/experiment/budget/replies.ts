/** Counts a model's rejected replies until a proposal is accepted (`limits.rejections`). */
import { isByControl } from '../../config/model.js';
import { type CallRecord, stageOf } from '../../runs/calls.js';

export class Replies {
  readonly #isControl: boolean;
  /** True once any proposal, including a baseline's, has been accepted. */
  isAnyAccepted = false;
  isModelAccepted = false;
  /** The model's rejected replies: first tries and corrections. */
  rejected = 0;
  /** The first rejected reply. */
  first: CallRecord | undefined;

  /** @param isControl true if only a baseline proposes; its replies don't count as a model's */
  constructor(isControl: boolean) {
    this.#isControl = isControl;
  }

  /** Counts a call of a complete iteration. */
  count(call: CallRecord): void {
    if (stageOf(call) !== 'proposal') return;
    const isModel = !this.#isControl && !isByControl(call);
    if (call.outcome.kind === 'accepted') {
      this.isAnyAccepted = true;
      this.isModelAccepted ||= isModel;
    }
    if (call.outcome.kind !== 'rejected' || !isModel) return;
    this.rejected++;
    this.first ??= call;
  }

  /** How many more replies may be rejected; undefined without a limit or once a proposal has been accepted. */
  left(limit: number | undefined): number | undefined {
    return !limit || this.isAnyAccepted ? undefined : limit - this.rejected;
  }
}
