/**
 * Eight control tasks that the embedded model had never been played on when they were chosen (2026-11-30); the
 * equations follow the sources named below. Use: `environment: { id: ./environment.mjs, options: { task: reactor } }`.
 */

const g = 9.81;
const clip = (value, low, high) => Math.min(high, Math.max(low, value));

/** Integrates x' = slope(x) over `time` by `steps` midpoint steps. */
function integrate(slope, x, time, steps) {
  const h = time / steps;
  let state = x;
  for (let i = 0; i < steps; i++) {
    const half = slope(state).map((v, j) => state[j] + (h / 2) * v);
    state = slope(half).map((v, j) => state[j] + h * v);
  }
  return state;
}

/**
 * Each task: actions (a number of choices, or of numbers from −1 to 1), step limit, first state, observation, and a step
 * from state and action to the next state, reward and end.
 */
const tasks = {
  /** J. Hauser, S. Sastry, P. Kokotović (1992): a ball rolls on a beam whose angular acceleration is set. */
  'ball-and-beam': {
    numbers: 1,
    limit: 100,
    start: (random) => [random.uniform(-0.8, 0.8), 0, 0, 0],
    observe: (x) => x,
    step(x, [u]) {
      const slope = ([r, v, angle, w]) => [v, 0.7143 * (r * w * w - g * Math.sin(angle)), w, 3 * u];
      const next = integrate(slope, x, 0.1, 5);
      const ended = Math.abs(next[0]) > 1.5 || Math.abs(next[2]) > 1;
      return { next, reward: ended ? 0 : 1 - Math.min(1, Math.abs(next[0])), ended };
    },
  },
  /** After D. Nguyen, B. Widrow (1990), with simplified kinematics: a truck with a trailer backs along a line. */
  truck: {
    numbers: 1,
    limit: 200,
    start: (random) => [random.uniform(-4, 4), random.uniform(-0.8, 0.8), 0],
    /** Distance from the line, angle of the trailer, and angle of the cab to the trailer. */
    observe: ([y, trailer, bend]) => [y / 4, trailer, bend],
    step([y, trailer, bend], [u]) {
      const [length, cabin, speed] = [4, 2, 0.2];
      const forward = speed * Math.cos(u);
      const cab = trailer + bend;
      const nextTrailer = trailer - Math.asin(clip((forward * Math.sin(bend)) / length, -1, 1));
      const nextCab = cab + Math.asin(clip((speed * Math.sin(u)) / (length / 2 + cabin), -1, 1));
      const next = [y - forward * Math.cos(bend) * Math.sin(trailer), nextTrailer, nextCab - nextTrailer];
      const ended = Math.abs(next[2]) > Math.PI / 2 || Math.abs(next[1]) > Math.PI / 2;
      return { next, reward: ended ? 0 : 1 - Math.min(1, Math.abs(next[0]) / 5), ended };
    },
  },
  /** J. S. Meditch (1964): an engine is on or off; land softly with little fuel. */
  'soft-landing': {
    choices: 2,
    limit: 300,
    start: (random) => [random.uniform(30, 60), random.uniform(-6, 0)],
    observe: ([height, speed]) => [height / 30, speed / 10],
    step([height, speed], on) {
      const acceleration = 3 * on - 1.62;
      const next = [height + 0.2 * speed + 0.02 * acceleration, speed + 0.2 * acceleration];
      const ended = next[0] <= 0 || next[0] > 120;
      const impact = next[0] <= 0 ? Math.abs(next[1]) : 20;
      return { next, reward: -0.01 * on - (ended ? impact / 10 : 0.002), ended };
    },
  },
  /** R. T. Bupp, D. S. Bernstein, V. T. Coppola (1998): a rotor damps a cart on a spring. */
  rotor: {
    numbers: 1,
    limit: 150,
    start: (random) => [random.uniform(-1, 1), random.uniform(-1, 1), 0, 0],
    observe: (x) => x,
    step(x, [u]) {
      const coupling = 0.2;
      const slope = ([q, v, angle, w]) => {
        const cosine = coupling * Math.cos(angle);
        const pull = coupling * w * w * Math.sin(angle) - q;
        const free = 1 - cosine * cosine;
        return [v, (pull - cosine * u) / free, w, (u - cosine * pull) / free];
      };
      const next = integrate(slope, x, 0.2, 4);
      return { next, reward: -(next[0] * next[0]) - 0.1 * u * u, ended: Math.abs(next[3]) > 20 };
    },
  },
  /** K. H. Johansson (2000): two pumps fill four tanks; the lower two should hold their levels. */
  'four-tanks': {
    numbers: 2,
    limit: 100,
    start: (random) => [5, 5, 0.5, 0.5].map((low, i) => random.uniform(low, i < 2 ? 18 : 4)),
    observe: ([a, b, c, d]) => [(a - 12.4) / 5, (b - 12.7) / 5, (c - 1.8) / 2, (d - 1.4) / 2],
    step(x, [left, right]) {
      const out = (area, level) => area * Math.sqrt(2 * 981 * Math.max(0, level));
      const slope = ([a, b, c, d]) => [
        (out(0.071, c) - out(0.071, a) + 0.7 * 3.33 * (3 + 3 * left)) / 28,
        (out(0.057, d) - out(0.057, b) + 0.6 * 3.35 * (3 + 3 * right)) / 32,
        (0.4 * 3.35 * (3 + 3 * right) - out(0.071, c)) / 28,
        (0.3 * 3.33 * (3 + 3 * left) - out(0.057, d)) / 32,
      ];
      const next = integrate(slope, x, 5, 5).map((level) => clip(level, 0, 25));
      return {
        next,
        reward: -(Math.abs(next[0] - 12.4) + Math.abs(next[1] - 12.7)) / 10,
        ended: false,
      };
    },
  },
  /** M. A. Henson, D. E. Seborg (1997): cooling keeps a stirred tank reactor at an unstable steady state. */
  reactor: {
    numbers: 1,
    limit: 100,
    start: (random) => [random.uniform(0.4, 0.6), random.uniform(342, 358)],
    observe: ([c, t]) => [(c - 0.5) * 4, (t - 350) / 10],
    step(x, [u]) {
      const slope = ([c, t]) => {
        const rate = 7.2e10 * Math.exp(-8750 / t) * c;
        return [1 - c - rate, 350 - t + 209.2 * rate + 2.092 * (300 + 20 * u - t)];
      };
      const next = integrate(slope, x, 0.05, 60);
      return { next, reward: -Math.min(1, 2 * Math.abs(next[0] - 0.5)), ended: false };
    },
  },
  /** W. O. Kermack, A. G. McKendrick (1927): close or open a town during an epidemic; both cost. */
  epidemic: {
    choices: 2,
    limit: 180,
    start: (random) => [random.uniform(0.7, 1), random.uniform(0.001, 0.02)],
    observe: ([susceptible, infected]) => [susceptible, 10 * infected],
    step([susceptible, infected], closed) {
      const fresh = (closed ? 0.12 : 0.3) * susceptible * infected;
      const next = [susceptible - fresh, infected + fresh - 0.1 * infected + 0.0001 * susceptible];
      return { next, reward: -0.1 * closed - 20 * Math.max(0, infected - 0.03), ended: false };
    },
  },
  /** A. J. Clark, H. Scarf (1960): order stock that arrives two days later, for random demand. */
  stock: {
    numbers: 1,
    limit: 60,
    start: (random) => [random.uniform(0, 20), random.uniform(0, 10), random.uniform(0, 10)],
    observe: ([stock, tomorrow, later]) => [stock / 10, tomorrow / 10, later / 10],
    step([stock, tomorrow, later], [u], random) {
      const demand = Math.max(0, random.normal(7, 3));
      const left = clip(stock + tomorrow - demand, -40, 80);
      const cost = left >= 0 ? 0.02 * left : -0.2 * left;
      return { next: [left, later, 10 + 10 * u], reward: -cost, ended: false };
    },
  },
};

export default {
  create({ task }) {
    const { choices, limit, numbers, observe, start, step } = tasks[task];
    let [state, random] = [[], undefined];
    const count = observe(start({ uniform: (low) => low })).length;
    return {
      observationSpace: { kind: 'box', low: Array(count).fill(-100), high: Array(count).fill(100) },
      actionSpace: choices
        ? { kind: 'discrete', n: choices }
        : { kind: 'box', low: Array(numbers).fill(-1), high: Array(numbers).fill(1) },
      maxSteps: limit,
      reset(_seed, episodeRandom) {
        random = episodeRandom;
        state = start(random);
        return observe(state);
      },
      step(action) {
        const taken = choices ? action : action.map((value) => clip(value, -1, 1));
        const { ended, next, reward } = step(state, taken, random);
        state = next;
        return { observation: observe(next), reward, terminated: ended };
      },
    };
  },
};
