import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import type { DefinitionFiles } from '../contract/agents'

export const configFile = 'config.yaml'
export const promptFile = 'system-prompt.md'

const SKILL_FILE = /^skills\/([A-Za-z0-9][A-Za-z0-9_-]{0,63})\/SKILL\.md$/

/** Lists the skill files of a definition with their folders, sorted by path. */
export function listSkillFiles(files: DefinitionFiles): { folder: string; file: string }[] {
  return Object.keys(files)
    .sort()
    .flatMap((file) => {
      const folder = SKILL_FILE.exec(file)?.[1]
      return folder === undefined ? [] : [{ folder, file }]
    })
}

/** Returns why files are no definition: a missing or unknown file, or more than a definition can hold. */
export function checkFiles(files: DefinitionFiles): ErrorDetail[] {
  const { filesMax, fileCharsMax, charsMax, linesMax } = definitionLimits
  const entries = Object.entries(files)
  const chars = sum(entries.map(([, text]) => text.length))
  if (entries.length > filesMax) return [tooMuch(entries.length, filesMax, 'files')]
  if (chars > charsMax) return [tooMuch(chars, charsMax, 'characters in all files')]
  const lines = sum(entries.map(([, text]) => countLines(text)))
  if (lines > linesMax) return [tooMuch(lines, linesMax, 'lines in all files')]
  const missing = [configFile, promptFile].filter((path) => !files[path]?.trim())
  return [
    ...missing.map((path) => toProblem(path, 'The file is missing or empty')),
    ...entries.flatMap(([path, text]) => {
      if (!isKnownFile(path)) return [toProblem(path.slice(0, pathCharsShown), unknownFile)]
      if (text.length <= fileCharsMax) return []
      return [toProblem(path, `Too large: the maximum is ${fileCharsMax} characters`)]
    }),
  ]
}

const pathCharsShown = 200
const unknownFile = `Not a file of a definition. Remove it: a definition has ${configFile}, ${promptFile} and skills/<name>/SKILL.md`

const toProblem = (path: string, message: string): ErrorDetail => ({ path: `${path}:1:`, message })

const tooMuch = (found: number, most: number, what: string): ErrorDetail => ({
  path: 'files',
  message: `${found} ${what}: the maximum is ${most}. Shorten the definition`,
})

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

function countLines(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

const isKnownFile = (path: string): boolean =>
  path === configFile || path === promptFile || SKILL_FILE.test(path)
