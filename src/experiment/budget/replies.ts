/** Counts the replies of a run's model until a proposal is accepted (`limits.rejections`). */
import { isByControl } from '../../config/model.js';
import { type CallRecord, stageOf } from '../../runs/calls.js';

export class Replies {
  readonly #isControl: boolean;
  /** True once any proposal was accepted, a control's included. */
  isAnyAccepted = false;
  isModelAccepted = false;
  /** Rejected replies of the model: first tries and corrections. */
  rejected = 0;
  /** The first of them. */
  first: CallRecord | undefined;

  /** @param isControl whether a control alone proposes: none of its replies counts as a model's */
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

  /** How many more replies may be rejected; undefined without a limit, and once a proposal was accepted. */
  left(limit: number | undefined): number | undefined {
    return !limit || this.isAnyAccepted ? undefined : limit - this.rejected;
  }
}
