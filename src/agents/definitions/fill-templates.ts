import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { formatNearest } from '../../shared/find-nearest'
import type { Config } from './config-schema'

/** Templates of `{{...}}` in a prompt. An unset field becomes an empty text, or its default. */
const templates: Record<string, (config: Config) => string | undefined> = {
  name: ({ name }) => name,
  display_name: ({ name, display_name }) => display_name ?? name,
  description: ({ description }) => description,
  version: ({ version }) => version?.toString(),
  type: ({ type }) => type ?? 'native',
  profile: ({ profile }) => profile,
  provider: ({ brain }) => brain?.provider,
  model: ({ brain }) => brain?.model,
  grants: ({ capabilities }) => capabilities?.grants?.join(', '),
  skills: ({ capabilities }) => capabilities?.skills?.join(', '),
  topics: ({ interests }) => interests?.topics?.join(', '),
  communities: ({ interests }) => interests?.communities?.join(', '),
  keywords: ({ interests }) => interests?.keywords?.join(', '),
  follow_agents: ({ interests }) => interests?.follow_agents?.join(', '),
}

/** The fields that a prompt can name as `{{field}}`. */
export const templateFields: readonly string[] = Object.keys(templates)

const shortNames: Record<string, string> = {
  'brain.provider': 'provider',
  'brain.model': 'model',
  'capabilities.grants': 'grants',
  'capabilities.skills': 'skills',
  'interests.topics': 'topics',
  'interests.communities': 'communities',
  'interests.keywords': 'keywords',
  'interests.follow_agents': 'follow_agents',
}

/** Fills the templates in a prompt. Inserted text is not expanded again. */
export function fillTemplates(
  file: string,
  prompt: string,
  config: Config,
): { text: string; problems: ErrorDetail[] } {
  const { fileCharsMax, detailsMax } = definitionLimits
  const problems: ErrorDetail[] = []
  const parts: string[] = []
  let end = 0
  let chars = prompt.length
  for (const { 0: whole, 1: inside = '', index } of prompt.matchAll(/\{\{([^{}]*)\}\}/g)) {
    const template = findTemplate(inside.trim())
    if (!template) problems.push(toUnknown(file, prompt.slice(0, index), whole))
    const filled = template?.(config) ?? ''
    chars += filled.length - whole.length
    if (chars > fileCharsMax) problems.push(tooLong(file))
    if (chars > fileCharsMax || problems.length >= detailsMax) return { text: '', problems }
    parts.push(prompt.slice(end, index), filled)
    end = index + whole.length
  }
  return { text: [...parts, prompt.slice(end)].join(''), problems }
}

function findTemplate(key: string): ((config: Config) => string | undefined) | undefined {
  const name = Object.hasOwn(shortNames, key) ? (shortNames[key] ?? key) : key
  return Object.hasOwn(templates, name) ? templates[name] : undefined
}

function toUnknown(file: string, before: string, whole: string): ErrorDetail {
  const nearest = formatNearest(whole.slice(2, -2).trim(), templateFields)
  return {
    path: `${file}:${before.split('\n').length}:${whole}`,
    message: `Unknown template. Use one of ${templateFields.join(', ')}${nearest}`,
  }
}

const tooLong = (file: string): ErrorDetail => ({
  path: `${file}:1:`,
  message: `Too large with its templates filled in: the maximum is ${definitionLimits.fileCharsMax} characters`,
})
