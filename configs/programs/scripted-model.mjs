/**
 * A model for trying out programs without a language model. It writes the first of these programs that the conversation
 * doesn't contain, so a resumed run gets the same ones. Where there are two, the first is faulty.
 */
const programs = [
  [
    `function act(observation) {
  return observation.poleAngle > 0 ? 1 : 0;
}`,
  ],
  [
    `function act(observation) {
  return observation.angle > 0 ? 1 : 0;
}`,
    `const constants = { damping: { value: 3, low: 0, high: 4 }, centring: { value: 0, low: 0, high: 0.5 } };

function act(observation, memory, constants) {
  const lean = observation.poleAngle + constants.damping * observation.poleAngularVelocity;
  return lean + constants.centring * observation.cartPosition > 0 ? 1 : 0;
}`,
  ],
  [
    `function act(observation, memory) {
  memory.action = 1 - (memory.action ?? 0);
  return Math.abs(observation.poleAngle) < 0.02 ? memory.action : observation.poleAngle > 0 ? 1 : 0;
}`,
  ],
  [
    `function act(observation) {
  return observation.poleAngularVelocity > 0 ? 1 : 0;
}`,
  ],
];

/** Without numbers, because tuning changes them. */
const structure = (text) => text.replaceAll(/\d[\d.]*/g, '#');

export default {
  name: 'scripted',
  create: () => ({
    id: 'scripted',
    generate: async (messages, { seeds }) => {
      const written = structure(messages.map(({ content }) => content).join('\n'));
      const isNew = (program) => !written.includes(structure(program));
      const versions = programs.find((all) => isNew(all.at(-1))) ?? programs[0];
      const text = `\`\`\`js\n${versions.find(isNew) ?? versions[0]}\n\`\`\``;
      return seeds.map(() => ({ text, finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 }));
    },
  }),
};
