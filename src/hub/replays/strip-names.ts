/**
 * Returns a text without what says who wrote it: names of an agent and of models, as they are or with other separators.
 * Whoever compares answers must not know which is which.
 */
export function stripNames(text: string, names: { agent: string[]; models: string[] }): string {
  const stripped = names.models
    .flatMap((model) => [model, model.slice(model.indexOf('/') + 1)])
    .reduce((rest, name) => replaceName(rest, name, 'the model'), text)
  return names.agent.reduce((rest, name) => replaceName(rest, name, 'the agent'), stripped)
}

/** Names of models differ in these: `claude-sonnet-5`, `Claude Sonnet 5`. */
const separators = /[^\p{L}\p{N}]+/u

function replaceName(text: string, name: string, by: string): string {
  const parts = name.split(separators).filter((part) => part !== '')
  // a single letter is no name that says anything
  if (parts.join('').length < 2) return text
  const pattern = `@?(?<![\\p{L}\\p{N}])${parts.join('[^\\p{L}\\p{N}]{1,3}')}(?![\\p{L}\\p{N}])`
  return text.replace(new RegExp(pattern, 'giu'), by)
}
