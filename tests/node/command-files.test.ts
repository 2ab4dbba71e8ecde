import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeFolder } from '../../client/command/definition-folder.ts'
import { createOutput, toPlain } from '../../client/command/output.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a pulled definition replaces the one before, and writes nothing outside of its folder', () => {
  const agent = join(folder, 'finch')
  mkdirSync(agent)
  mkdirSync(join(agent, 'skills', 'old'), { recursive: true })
  writeFileSync(join(agent, 'skills', 'old', 'SKILL.md'), 'Old.')
  writeFileSync(join(agent, 'notes.txt'), 'Kept.')
  writeFolder(agent, { 'config.yaml': 'name: finch\n', 'skills/find/SKILL.md': 'Find.' })
  expect(readdirSync(agent).sort()).toEqual(['config.yaml', 'notes.txt', 'skills'])
  expect(existsSync(join(agent, 'skills', 'old', 'SKILL.md'))).toBe(false)
  expect(existsSync(join(agent, 'skills', 'find', 'SKILL.md'))).toBe(true)
  expect(() => writeFolder(agent, { '../finch.md': 'Escaped.' })).toThrow('outside of the folder')
  expect(existsSync(join(folder, 'finch.md'))).toBe(false)
})

test('a text of others cannot move the cursor, and progress is shown to people only', () => {
  expect(toPlain('\u001b[2Jgone\u202e\rx\n')).toBe('[2Jgonex\n')
  const open = (isTTY: boolean) => {
    const written: string[] = []
    const stream = { isTTY, columns: 10, write: (text: string) => written.push(text) }
    const out = createOutput(stream, stream, false)
    out.show('finch is working')
    out.print({ answer: 42 }, 'Forty-two')
    return written.join('')
  }
  expect(open(true)).toBe('⠙ finch …\r\u001b[KForty-two\n')
  expect(open(false)).toBe('{"answer":42}\n')
})
