import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/local-state.mjs'

/** A command that a page tells its reader to run. */
export interface PageCommand {
  /** The heading above it. */
  section: string
  text: string
}

/** Returns the commands of a page in its order: the lines of blocks of `sh`, and code within a sentence that is a command. */
export function readCommands(page: string): PageCommand[] {
  const content = readFileSync(join(root, 'docs', page), 'utf8')
  let section = ''
  return content.split(/^(?=#+ |```)/m).flatMap((part) => {
    const [first = '', ...rest] = part.split('\n')
    if (first.startsWith('#')) section = first.replace(/^#+ /, '')
    const found = first === '```sh' ? rest.map(withoutComment) : listInline(rest.join(' '))
    return found.filter(Boolean).map((text) => ({ section, text }))
  })
}

const withoutComment = (line: string): string => line.replace(/ +# .*$/, '').trim()

const listInline = (text: string): string[] =>
  Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code).filter(isCommand)

/** A program and what it is given, or only that. */
const isCommand = (code: string): boolean => /^([A-Z_]+=\S+ )*[a-z][a-z0-9-]* \S|^--\w/.test(code)
