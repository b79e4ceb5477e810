import type { MainModule, MjData, MjModel } from '@mujoco/mujoco';
import { packageText } from '../../base/package.js';

export type ModelName =
  | 'half_cheetah'
  | 'hopper'
  | 'walker2d_v5'
  | 'swimmer'
  | 'reacher'
  | 'inverted_pendulum'
  | 'inverted_double_pendulum';

/** A compiled model, which never changes. Lengths in m, times in s. */
export interface MujocoModel {
  readonly mujoco: MainModule;
  readonly handle: MjModel;
  /** Seconds per integration step. */
  readonly timeStep: number;
  readonly positionCount: number;
  readonly velocityCount: number;
  /** Limits of the actuators; MuJoCo clips controls to them. */
  readonly controlLow: readonly number[];
  readonly controlHigh: readonly number[];
  readonly geoms: readonly Geom[];
  readonly hinges: readonly Hinge[];
  /** @throws Error if the model has no body with this name */
  bodyIndex(name: string): number;
}

export interface Geom {
  readonly name: string;
  readonly kind: 'sphere' | 'capsule' | 'cylinder' | 'other';
  /** Index of the geom's body; 0 is the world. */
  readonly body: number;
  readonly radius: number;
  /** Half-length of a capsule or cylinder in m, excluding the end caps. */
  readonly halfLength: number;
}

/** A rotational joint between two bodies, neither of which is the world. */
interface Hinge {
  readonly joint: number;
  /** Index of the body that the hinge rotates. */
  readonly body: number;
}

/** Bytes per state for contacts and constraints. The models need at most 42 kB, but the default is up to 13 MB. */
const arenaBytes = 2 ** 18;

/** Values of `mjtGeom`. */
const geomKinds: Readonly<Record<number, Geom['kind']>> = { 2: 'sphere', 3: 'capsule', 5: 'cylinder' };

let modulePromise: Promise<MainModule> | undefined;
const modelCache = new Map<ModelName, MujocoModel>();

/** Loads one of Gymnasium's models; the first call also loads MuJoCo (10 MB of WebAssembly). Both stay in memory. */
export async function loadMujocoModel(name: ModelName): Promise<MujocoModel> {
  modulePromise ??= import('@mujoco/mujoco').then(({ default: load }) => load());
  const mujoco = await modulePromise;
  const model = modelCache.get(name) ?? compile(mujoco, name);
  modelCache.set(name, model);
  return model;
}

function compile(mujoco: MainModule, name: ModelName): MujocoModel {
  const handle = mujoco.MjModel.from_xml_string(packageText(`src/environments/mujoco/models/${name}.xml`));
  handle.narena = arenaBytes;
  const { opt } = handle;
  const timeStep = opt.timestep;
  opt.delete();
  const controlRange = [...(handle.actuator_ctrlrange as Float64Array)];
  const { mjOBJ_BODY, mjOBJ_GEOM } = mujoco.mjtObj;
  const { mjJNT_HINGE } = mujoco.mjtJoint;
  const geomTypes = handle.geom_type as Int32Array;
  const geomBodies = handle.geom_bodyid as Int32Array;
  const geomSizes = handle.geom_size as Float64Array;
  const jointTypes = handle.jnt_type as Int32Array;
  const jointBodies = handle.jnt_bodyid as Int32Array;
  const bodyParents = handle.body_parentid as Int32Array;
  return {
    mujoco,
    handle,
    timeStep,
    positionCount: handle.nq,
    velocityCount: handle.nv,
    controlLow: controlRange.filter((_, i) => i % 2 === 0),
    controlHigh: controlRange.filter((_, i) => i % 2 === 1),
    geoms: Array.from(geomTypes, (type, i) => ({
      name: mujoco.mj_id2name(handle, mjOBJ_GEOM.value, i) ?? '',
      kind: geomKinds[type] ?? 'other',
      body: geomBodies[i]!,
      radius: geomSizes[3 * i]!,
      halfLength: geomSizes[3 * i + 1]!,
    })),
    hinges: Array.from(jointBodies, (body, joint) => ({ joint, body })).filter(
      ({ joint, body }) => jointTypes[joint] === mjJNT_HINGE.value && bodyParents[body]! > 0,
    ),
    bodyIndex(body) {
      const index = mujoco.mj_name2id(handle, mjOBJ_BODY.value, body);
      if (index < 0) throw new Error(`${name}.xml has no body ${body}`);
      return index;
    },
  };
}

const stateParts = [
  'qpos', // positions and angles of the joints, in m and rad
  'qvel', // velocities of the joints, in m/s and rad/s
  'ctrl', // controls of the actuators
  'qfrc_constraint', // constraint forces on each joint
  'xpos', // three coordinates in m per body; below, per site, joint and geom
  'site_xpos',
  'xanchor', // positions of the joints
  'geom_xpos',
  'geom_xmat', // a row-major rotation matrix per geom; column 2 is the axis of a capsule
] as const;

/** Views of MuJoCo's memory, valid until the next call into MuJoCo: if the memory grows, old arrays get length 0. */
export type State = Readonly<Record<(typeof stateParts)[number], Float64Array>>;

/** Frees the states of simulations that are garbage-collected without having been closed. */
const registry = new FinalizationRegistry<MjData>((data) => data.delete());

export class Simulation {
  readonly model: MujocoModel;
  readonly stepSeconds: number;
  readonly #frameSkip: number;
  readonly #data: MjData;
  #state: State;

  /** @param frameSkip number of integration steps with the same control */
  constructor(model: MujocoModel, frameSkip: number) {
    this.model = model;
    this.stepSeconds = model.timeStep * frameSkip;
    this.#frameSkip = frameSkip;
    this.#data = new model.mujoco.MjData(model.handle);
    this.#state = stateOf(this.#data);
    registry.register(this, this.#data, this);
  }

  get state(): State {
    if (this.#state.qpos.length === 0) this.#state = stateOf(this.#data);
    return this.#state;
  }

  /** Resets to the model's default pose at rest; `place` may then change positions and velocities. */
  start(place: (state: State) => void): void {
    const { mujoco, handle } = this.model;
    mujoco.mj_resetData(handle, this.#data);
    place(this.state);
    mujoco.mj_forward(handle, this.#data);
  }

  /** @param control one number per actuator; MuJoCo clips it to the actuator's range */
  advance(control: readonly number[]): void {
    const { mujoco, handle } = this.model;
    const { ctrl } = this.state;
    for (let i = 0; i < ctrl.length; i++) ctrl[i] = control[i]!;
    for (let frame = 0; frame < this.#frameSkip; frame++) mujoco.mj_step(handle, this.#data);
  }

  /** Frees the memory; the simulation is unusable afterwards. */
  close(): void {
    registry.unregister(this);
    this.#data.delete();
  }
}

function stateOf(data: MjData): State {
  return Object.fromEntries(stateParts.map((part) => [part, data[part]])) as State;
}
