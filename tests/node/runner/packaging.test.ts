import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../../scripts/local-state.mjs'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const unit = read('runner/packaging/rookery-runner.service')

/** Returns the values of a key of the unit. */
const valuesOf = (key: string): string[] =>
  unit
    .split('\n')
    .flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))

test('X14: the unit for systemd starts the runner with limits, without rights, and is valid', () => {
  const [command = ''] = valuesOf('ExecStart')
  const [node = '', script = '', ...options] = command.split(' ')
  expect(existsSync(join(root, script))).toBe(true)
  const main = read('runner/main.ts')
  for (const option of options.filter((each) => each.startsWith('--')))
    expect(main).toContain(option)
  // Its key is in a file, and what cannot get better is not started again.
  expect(valuesOf('EnvironmentFile')).toHaveLength(1)
  expect(unit).not.toMatch(/^Environment=.*KEY/m)
  expect(valuesOf('RestartPreventExitStatus')).toEqual(['2 4'])
  expect(valuesOf('User')).toEqual(['rookery-runner'])
  for (const key of ['MemoryMax', 'TasksMax', 'ProtectHome', 'ProtectSystem', 'NoNewPrivileges']) {
    expect(valuesOf(key), key).toHaveLength(1)
  }
  // The sandbox needs namespaces.
  expect(unit).not.toMatch(/^(RestrictNamespaces|PrivateUsers|ProtectKernelTunables)=/m)

  const tool = spawnSync('systemd-analyze', ['--version'])
  if (tool.error) return
  const folder = mkdtempSync(join(tmpdir(), 'rookery-unit-'))
  try {
    const path = join(folder, 'rookery-runner.service')
    writeFileSync(path, unit.replace(node, process.execPath))
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' })
    expect([stderr, status]).toEqual(['', 0])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Returns the instructions of a Dockerfile, continued lines joined. */
const instructions = read('runner/packaging/Dockerfile')
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [name = '', ...rest] = line.split(/\s+/)
    return { name, words: rest, text: rest.join(' ') }
  })
const find = (name: string) => instructions.filter((each) => each.name === name)

/** Returns the files outside of the runner's folder that its program imports. */
function listOuterImports(folder: string): string[] {
  const files = readdirSync(join(root, folder), { withFileTypes: true })
  return files.flatMap((file) => {
    const path = join(folder, file.name)
    if (file.isDirectory()) {
      return ['node_modules', 'matrix'].includes(file.name) ? [] : listOuterImports(path)
    }
    if (!path.endsWith('.ts')) return []
    return [...read(path).matchAll(/(?:from|URL\()\s*'(\.\.[^']*)'/g)].flatMap(
      ([, target = '']) => {
        const found = normalize(join(dirname(path), target))
        return found.startsWith('runner/') || !/\.\w+$/.test(found) ? [] : [found]
      },
    )
  })
}

test('X14: the image has all that the runner imports, and runs as nobody in particular', () => {
  expect(find('FROM')).toHaveLength(1)
  expect(find('FROM')[0]?.text).toMatch(/^node:24-[a-z]+-slim$/)
  const sources = find('COPY').flatMap(({ words }) => words.slice(0, -1))
  expect(sources.filter((path) => !existsSync(join(root, path)))).toEqual([])
  const outer = listOuterImports('runner')
  expect(outer).toContain('src/shared/runner-protocol.ts')
  expect(outer.filter((path) => !sources.includes(path))).toEqual([])
  // Secrets come when it runs; downloads are of packages only.
  expect(find('ADD')).toEqual([])
  expect([...find('ARG'), ...find('ENV')].map(({ text }) => text).join()).not.toMatch(/key|token/i)
  for (const { text } of find('RUN')) {
    expect(text).not.toMatch(/curl|wget|sudo/)
    if (!text.includes('apt-get install')) continue
    expect(text).toMatch(/--no-install-recommends.*rm -rf \/var\/lib\/apt\/lists/)
    for (const name of ['bubblewrap', 'socat', 'ripgrep', 'git']) expect(text).toContain(name)
  }
  const names = instructions.map(({ name }) => name)
  expect(find('USER')).toMatchObject([{ text: 'node' }])
  expect(names.indexOf('USER')).toBeLessThan(names.indexOf('ENTRYPOINT'))
  const [entry] = find('ENTRYPOINT')
  expect(JSON.parse(entry?.text ?? '')).toContain('runner/main.ts')
  const ignored = read('runner/packaging/Dockerfile.dockerignore').split('\n')
  expect(ignored).toEqual(expect.arrayContaining(['**/node_modules', '**/.git', '.dev.vars']))
})
