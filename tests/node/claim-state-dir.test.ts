import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { claimStateDir } from '../../scripts/claim-state-dir.mjs'
import { root } from '../../scripts/local-state.mjs'

const folder = mkdtempSync(join(tmpdir(), 'rookery-claim-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Claims once standard input ends, says how it went, and keeps what it got until it is killed. */
const rivalScript = `
  import { claimStateDir } from ${JSON.stringify(join(root, 'scripts/claim-state-dir.mjs'))}
  process.stdout.write('ready ')
  for await (const _ of process.stdin);
  process.stdout.write(await claimStateDir(process.argv[1]).then(() => 'won', () => 'lost'))
  setInterval(() => {}, 1000)
`

async function race(stateDir: string, rivals: number): Promise<string[]> {
  const children = Array.from({ length: rivals }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', rivalScript, stateDir]),
  )
  const heard = children.map((child) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    return () => text
  })
  const until = async (pattern: RegExp) => {
    while (!heard.every((text) => pattern.test(text()))) await new Promise((r) => setTimeout(r, 5))
  }
  await until(/ready/)
  for (const child of children) child.stdin.end()
  await until(/won|lost/)
  const ended = children.map((child) => new Promise((resolve) => child.once('close', resolve)))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(ended)
  return heard.map((text) => text().replace('ready ', '')).filter((text) => text === 'won')
}

const locksIn = (stateDir: string) =>
  readdirSync(stateDir).filter((name) => name.startsWith('lock'))

describe('claiming a state directory', () => {
  test('one of many wins, on new data and each time that the winner was killed', async () => {
    const stateDir = join(folder, 'raced')
    for (let round = 0; round < 8; round++) {
      expect(await race(stateDir, 6)).toEqual(['won'])
      expect(locksIn(stateDir)).toEqual(['lock'])
    }
  })

  test('a lock whose process number belongs to another process now is taken over', async () => {
    const stateDir = join(folder, 'reused')
    mkdirSync(stateDir)
    for (const left of [`${process.pid}-1`, '']) {
      writeFileSync(join(stateDir, 'lock'), left)
      const release = await claimStateDir(stateDir)
      expect(locksIn(stateDir)).toEqual(['lock'])
      release()
      expect(locksIn(stateDir)).toEqual([])
    }
  })

  test('a second hub of the same process is refused; a late release takes nothing away', async () => {
    const stateDir = join(folder, 'same')
    const release = await claimStateDir(stateDir)
    await expect(claimStateDir(stateDir)).rejects.toThrow('A hub already runs on this data')
    release()
    const again = await claimStateDir(stateDir)
    release()
    expect(locksIn(stateDir)).toEqual(['lock'])
    again()
  })
})

const unusable: [string, string][] = [[join(root, 'package.json', 'data'), 'is a file']]
if (process.platform === 'linux') unusable.push(['/proc/rookery', 'ENOENT'])

test.each(unusable)(
  'a directory that cannot be created is an error at once: %s',
  async (directory, why) => {
    const error = await claimStateDir(directory).catch((thrown: Error) => thrown.message)
    expect(error).toContain(`Data cannot be kept in ${directory}`)
    expect(error).toContain(why)
    expect(error).toContain('ROOKERY_STATE_DIR')
  },
)
