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
  const problems: ErrorDetail[] = []
  const text = prompt.replace(/\{\{([^{}]*)\}\}/g, (whole, inside: string, offset: number) => {
    const key = inside.trim()
    const name = Object.hasOwn(shortNames, key) ? (shortNames[key] ?? key) : key
    const template = Object.hasOwn(templates, name) ? templates[name] : undefined
    if (template) return template(config) ?? ''
    const line = prompt.slice(0, offset).split('\n').length
    const known = Object.keys(templates).join(', ')
    problems.push({
      path: `${file}:${line}:${whole}`,
      message: `Unknown template. Use one of ${known}${formatNearest(key, Object.keys(templates))}`,
    })
    return whole
  })
  return { text, problems }
}
