/** Keep a room at 20 °C with a heater, while the outdoor temperature changes. One step is a quarter of an hour. */
export default {
  create({ power = 3 } = {}) {
    let [inside, outside, random] = [0, 0, undefined];
    const observe = () => [inside - 20, outside / 10];
    return {
      description:
        'Keep a room at 20 °C by setting the power of a heater. Each step costs the distance from 20 °C.',
      observationNames: ['room temperature minus 20 °C', 'outdoor temperature in 10 °C'],
      observationSpace: { kind: 'box', low: [-30, -2], high: [30, 3] },
      actionSpace: { kind: 'box', low: [0], high: [1] },
      maxSteps: 96,
      reset(_seed, episodeRandom) {
        random = episodeRandom;
        inside = random.uniform(10, 20);
        outside = random.uniform(-10, 10);
        return observe();
      },
      step([action]) {
        const heat = power * Math.min(1, Math.max(0, action));
        inside += heat - 0.1 * (inside - outside);
        outside += random.uniform(-0.5, 0.5);
        return { observation: observe(), reward: -Math.abs(inside - 20), terminated: false };
      },
    };
  },
};
