import type { ErrorDetail } from '../../errors'
import type { DefinitionFiles } from '../contract'

export const configFile = 'config.yaml'
export const promptFile = 'system-prompt.md'

const SKILL_FILE = /^skills\/([A-Za-z0-9][A-Za-z0-9_-]{0,63})\/SKILL\.md$/

const FILES_MAX = 64
const FILE_CHARS_MAX = 128 * 1024
const PATH_CHARS_MAX = 200

export function skillFiles(files: DefinitionFiles): { folder: string; file: string }[] {
  return Object.keys(files)
    .sort()
    .flatMap((file) => {
      const folder = SKILL_FILE.exec(file)?.[1]
      return folder === undefined ? [] : [{ folder, file }]
    })
}

/** Whether the files that must be there are there and of a size to read; others only warn. */
export function checkFiles(files: DefinitionFiles): {
  problems: ErrorDetail[]
  warnings: ErrorDetail[]
} {
  const problems: ErrorDetail[] = []
  const warnings: ErrorDetail[] = []
  const paths = Object.keys(files)
  if (paths.length > FILES_MAX) {
    problems.push({ path: 'files', message: `at most ${FILES_MAX} files are taken` })
  }
  for (const required of [configFile, promptFile]) {
    if (!files[required]?.trim()) {
      problems.push({ path: `${required}:1:`, message: 'the file is missing or empty' })
    }
  }
  for (const path of paths) {
    const at = `${path.slice(0, PATH_CHARS_MAX)}:1:`
    const isTooLong = path.length > PATH_CHARS_MAX || (files[path] ?? '').length > FILE_CHARS_MAX
    if (isTooLong) problems.push({ path: at, message: `over ${FILE_CHARS_MAX} characters` })
    if (!isUsed(path)) warnings.push({ path: at, message: 'not read: unknown file' })
  }
  return { problems, warnings }
}

const isUsed = (path: string): boolean =>
  path === configFile || path === promptFile || SKILL_FILE.test(path)
