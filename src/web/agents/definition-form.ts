import type { DefinitionFiles } from '../../agents/contract/agents'
import type { ErrorDetail } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import { createForm, type FormProblem, type FormState } from '../form/form-state'

const configFile = 'config.yaml'
const promptFile = 'system-prompt.md'

/** A definition as a form submits it. */
export interface SubmittedDefinition {
  files: DefinitionFiles
  /** The version that the author started from; 0 for a new agent. */
  base: number
  /** Grants that the policy of the agent is to allow, too. */
  allowGrants: string[]
}

/** Lists the files of a definition in the order of the page: config, prompt, then skills by name. */
export const listPaths = (files: DefinitionFiles): string[] => [
  configFile,
  promptFile,
  ...Object.keys(files)
    .filter((path) => path !== configFile && path !== promptFile)
    .sort(),
]

/** Reads a submitted definition. A skill without text is left out, which deletes it. */
export function readDefinitionForm(read: (name: string) => string): SubmittedDefinition {
  const paths = readList(read('paths'))
  const files = Object.fromEntries(paths.map((path) => [path, read(path)]))
  const kept = Object.entries(files).filter(
    ([path, text]) => path === configFile || path === promptFile || text.trim() !== '',
  )
  return {
    files: Object.fromEntries(kept),
    base: Number(read('base')) || 0,
    allowGrants: read('allow') === 'on' ? readList(read('allow_grants')) : [],
  }
}

function readList(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text || '[]')
    return Array.isArray(list) ? list.map(String).slice(0, 100) : []
  } catch {
    return []
  }
}

const folderPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Returns the files with a new skill to fill in, or why its name is not valid. */
export function addSkill(
  files: DefinitionFiles,
  name: string,
): { files: DefinitionFiles } | { error: string } {
  if (!folderPattern.test(name)) {
    return { error: 'Use 1 to 64 letters, digits, - and _, starting with a letter or a digit.' }
  }
  const path = `skills/${name}/SKILL.md`
  if (files[path] !== undefined) return { error: `The skill ${name} exists already.` }
  const text = `---\nname: ${name}\ndescription: When to use it, in a sentence.\n---\nThe steps to follow.\n`
  return { files: { ...files, [path]: text } }
}

/** Returns the form of a definition, with its problems at the files that they are in. */
export function toDefinitionForm(
  files: DefinitionFiles,
  problems: readonly ErrorDetail[] = [],
  problem: FormProblem | null = null,
): FormState<string> {
  const byFile = Map.groupBy(problems, ({ path }) => splitPlace(path).file)
  const errors = Object.fromEntries(
    listPaths(files).flatMap((path) => {
      const count = byFile.get(path)?.length ?? 0
      return count === 0
        ? []
        : [[path, `${formatPlural(count, 'problem', 'problems')}, listed above.`]]
    }),
  )
  const typed = Object.fromEntries(listPaths(files).map((path) => [path, files[path] ?? '']))
  return { ...createForm<string>({ ...typed, new_skill: '', allow: '' }), errors, problem }
}

/** A place in a file, of a path such as `config.yaml:3:brain.model`. */
export interface Place {
  file: string
  /** Null when the whole file is meant. */
  line: number | null
  field: string
}

export function splitPlace(path: string): Place {
  const [, file = path, line, field = ''] = /^([^:]+):(\d+):(.*)$/.exec(path) ?? []
  return { file, line: line === undefined ? null : Number(line), field }
}
