import type { ErrorDetail } from '../../shared/errors'
import type { DefinitionFiles } from '../contract/agents'

export const configFile = 'config.yaml'
export const promptFile = 'system-prompt.md'

const SKILL_FILE = /^skills\/([A-Za-z0-9][A-Za-z0-9_-]{0,63})\/SKILL\.md$/

const FILES_MAX = 64
const FILE_CHARS_MAX = 128 * 1024
const PATH_CHARS_MAX = 200

/** Lists the skill files of a definition with their folders, sorted by path. */
export function listSkillFiles(files: DefinitionFiles): { folder: string; file: string }[] {
  return Object.keys(files)
    .sort()
    .flatMap((file) => {
      const folder = SKILL_FILE.exec(file)?.[1]
      return folder === undefined ? [] : [{ folder, file }]
    })
}

/** Checks that required files exist and that sizes are within limits. Unknown files cause warnings. */
export function checkFiles(files: DefinitionFiles): {
  problems: ErrorDetail[]
  warnings: ErrorDetail[]
} {
  const problems: ErrorDetail[] = []
  const warnings: ErrorDetail[] = []
  const paths = Object.keys(files)
  if (paths.length > FILES_MAX) {
    problems.push({ path: 'files', message: `${paths.length} files: the maximum is ${FILES_MAX}` })
  }
  for (const required of [configFile, promptFile]) {
    if (!files[required]?.trim()) {
      problems.push({ path: `${required}:1:`, message: 'The file is missing or empty' })
    }
  }
  for (const path of paths) {
    const at = `${path.slice(0, PATH_CHARS_MAX)}:1:`
    const isTooLong = path.length > PATH_CHARS_MAX || (files[path] ?? '').length > FILE_CHARS_MAX
    if (isTooLong)
      problems.push({
        path: at,
        message: `Too large: the maximum is ${FILE_CHARS_MAX} characters, and ${PATH_CHARS_MAX} in a path`,
      })
    if (!isUsed(path)) warnings.push({ path: at, message: 'Ignored: unknown file' })
  }
  return { problems, warnings }
}

const isUsed = (path: string): boolean =>
  path === configFile || path === promptFile || SKILL_FILE.test(path)
