import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from '@swc/core'
import { analyse } from 'scslre'
import { expect, test } from 'vitest'
import { root } from '../../scripts/local-state.mjs'

/** Patterns that take more than linear time, and why what they search is short. */
const short: Record<string, string> = {
  '!?\\[([^\\]]*)\\]\\([^)]*\\)': 'an excerpt cuts the text first',
  '!?\\[([^\\]]*)(\\]\\([^)]*)?$': 'an excerpt cuts the text first',
  '-+$': 'a name of at most 32 characters',
  '\\w+$': 'the alignment of a cell, which the parser writes',
  '(?<![\\p{Lu}\\p{Ll}\\p{Lt}\\p{sc=Latin}\\p{Nd}_]\\p{M}*|[@/\\\\]:?)@([\\w-]*)$':
    'what a person types in their own browser; each part starts at an @ of its own',
}

/** Files that compose patterns at run time, and of what. None is composed of what somebody else wrote. */
const composing: Record<string, string> = {
  'runner/run/turn.ts': 'the name of the tool server',
  'src/agents/models/offline/about-hub.ts':
    'parts of itself, for questions of at most 120 characters',
  'src/agents/text/fence.ts': 'the word of the fence, and names of attributes',
  'src/hub/contract/policy-line.ts': 'the audiences of a line',
  'src/hub/replays/lane-api.ts': 'names of agents and models, of which letters and digits are left',
  'src/hub/rules/credential-patterns.ts':
    'prefixes of keys, which are letters, digits and underscores',
  'src/mcp-servers/credentials/scrub.ts': 'escapes, and secrets, each character escaped',
  'src/shared/markdown/syntax.ts': 'another pattern',
  'src/shared/markdown/mention.ts': 'parts of itself',
  'src/shared/search-text.ts': 'parts of itself',
  'src/shared/settings.ts': 'names of model providers',
}

const listSources = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.name === 'node_modules') return []
    if (entry.isDirectory()) return listSources(path)
    return /\.(ts|tsx|js|mjs)$/.test(entry.name) ? [path] : []
  })

const sources = ['src', 'client', 'runner'].flatMap(listSources).map((path) => ({
  path,
  source: readFileSync(join(root, path), 'utf8'),
}))

interface Literal {
  pattern: string
  flags: string
}

function findLiterals({ path, source }: (typeof sources)[number]): Literal[] {
  const syntax = /\.tsx?$/.test(path) ? 'typescript' : 'ecmascript'
  const open: unknown[] = [parseSync(source, { syntax, tsx: path.endsWith('x') })]
  const found: Literal[] = []
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node !== 'object' || node === null) continue
    if ('type' in node && node.type === 'RegExpLiteral') found.push(node as unknown as Literal)
    open.push(...Object.values(node))
  }
  return found
}

test('T14: every pattern takes time that is linear in the text', () => {
  const literals = sources.flatMap((file) =>
    findLiterals(file).map((literal) => ({ ...literal, path: file.path })),
  )
  expect(literals.length).toBeGreaterThan(500)
  const slow = literals.filter(
    ({ pattern, flags }) => analyse({ source: pattern, flags }).reports.length > 0,
  )
  const unknown = slow.filter(({ pattern }) => !(pattern in short))
  expect(unknown.map(({ path, pattern }) => `${path}: /${pattern}/`)).toEqual([])
  expect(new Set(slow.map(({ pattern }) => pattern))).toEqual(new Set(Object.keys(short)))
})

test('T14: patterns are composed at run time only in files that are known', () => {
  const found = sources.filter(({ source }) => /\bRegExp\(/.test(source)).map(({ path }) => path)
  expect(found.sort()).toEqual(Object.keys(composing).sort())
})
