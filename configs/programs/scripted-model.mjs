/** A model for trying out programs without a language model: it writes these programs, one after another. */
const programs = [
  'return observation.poleAngle > 0 ? 1 : 0;',
  'return observation.poleAngle + observation.poleAngularVelocity > 0 ? 1 : 0;',
  'return observation.angle > 0 ? 1 : 0;',
  `const lean = observation.poleAngle + 0.3 * observation.poleAngularVelocity;
  return lean + 0.05 * observation.cartPosition + 0.1 * observation.cartVelocity > 0 ? 1 : 0;`,
];

export default {
  name: 'scripted',
  create: () => ({
    id: 'scripted',
    generate: async (messages, { seeds }) => {
      // The second message states the iteration, so a resumed run writes the same programs.
      const iteration = Number(/This is iteration (\d+)/.exec(messages[1].content)?.[1] ?? 1);
      const corrections = messages.filter(({ role }) => role === 'assistant').length;
      return seeds.map(() => ({
        text: `\`\`\`js\nfunction act(observation, memory, constants) {\n  ${programs[(iteration - 1 + corrections) % programs.length]}\n}\n\`\`\``,
        ...{ finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 },
      }));
    },
  }),
};
