/** Stands in for a language model: writes the first of these programs that the prompt doesn't show. */
const programs = [
  'function act(observation) { return observation.position < -0.5 ? 2 : 0; }',
  'function act(observation) { return observation.velocity > 0 ? 2 : 0; }',
  'const constants = { edge: { value: -1.1, low: -1.2, high: -0.5 } };\n' +
    'function act(observation, memory, { edge }) { return observation.velocity > 0 || observation.position < edge ? 2 : 0; }',
];

export default {
  create: () => ({
    async generate(messages) {
      const prompt = messages.map(({ content }) => content).join('\n');
      const next = programs.find((program) => !prompt.includes(program.split('\n').at(-1)));
      return `\`\`\`js\n${next}\n\`\`\``;
    },
  }),
};
