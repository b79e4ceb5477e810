import type { MjData } from '@mujoco/mujoco';
import type { Model } from './model.js';

/**
 * MuJoCo's own memory of a state, without copying. An array is good until the next call of MuJoCo: when its memory grows,
 * arrays taken before have length 0.
 */
export interface State {
  /** Positions and angles of the joints, in m and rad. */
  readonly qpos: Float64Array;
  /** Their velocities, in m/s and rad/s. */
  readonly qvel: Float64Array;
  readonly ctrl: Float64Array;
  /** Forces of the constraints on each joint. */
  readonly qfrc_constraint: Float64Array;
  /** Three coordinates a body, a site, a geom. */
  readonly xpos: Float64Array;
  readonly site_xpos: Float64Array;
  /** Where the joints are, in m. */
  readonly xanchor: Float64Array;
  readonly geom_xpos: Float64Array;
  /** A rotation matrix a geom, by rows: column 2 is the axis of a capsule. */
  readonly geom_xmat: Float64Array;
}

/** States that nobody closed are given back with the simulation that held them. */
const forgotten = new FinalizationRegistry<MjData>((data) => data.delete());

/** A model in motion. */
export class Simulation {
  readonly model: Model;
  /** Simulated time of `advance`, in s. */
  readonly stepSeconds: number;
  readonly #frameSkip: number;
  readonly #data: MjData;
  #state: State;

  /** `frameSkip`: integration steps with the same control. */
  constructor(model: Model, frameSkip: number) {
    this.model = model;
    this.stepSeconds = model.timeStep * frameSkip;
    this.#frameSkip = frameSkip;
    this.#data = new model.mujoco.MjData(model.handle);
    this.#state = stateOf(this.#data);
    forgotten.register(this, this.#data, this);
  }

  get state(): State {
    if (this.#state.qpos.length === 0) this.#state = stateOf(this.#data);
    return this.#state;
  }

  /** Begins anew, at the model's own pose and at rest; `place` may change positions and velocities. */
  start(place: (state: State) => void): void {
    const { mujoco, handle } = this.model;
    mujoco.mj_resetData(handle, this.#data);
    place(this.state);
    mujoco.mj_forward(handle, this.#data);
  }

  /** @param control one number an actuator; MuJoCo limits it to the actuator's range */
  advance(control: readonly number[]): void {
    const { mujoco, handle } = this.model;
    const { ctrl } = this.state;
    for (let i = 0; i < ctrl.length; i++) ctrl[i] = control[i]!;
    for (let frame = 0; frame < this.#frameSkip; frame++) mujoco.mj_step(handle, this.#data);
  }

  /** Gives the memory back; nothing else may be called afterwards. */
  close(): void {
    forgotten.unregister(this);
    this.#data.delete();
  }
}

function stateOf(data: MjData): State {
  return {
    qpos: data.qpos,
    qvel: data.qvel,
    ctrl: data.ctrl,
    qfrc_constraint: data.qfrc_constraint,
    xpos: data.xpos,
    site_xpos: data.site_xpos,
    xanchor: data.xanchor,
    geom_xpos: data.geom_xpos,
    geom_xmat: data.geom_xmat,
  };
}
