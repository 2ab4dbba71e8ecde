import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../../scripts/local-state.mjs'
import { shippedAgents } from '../../src/shared/starter-agent.ts'
import { bundledPackages } from '../support/bundled-packages'

/** Files that are no product of an installation, a build or a run; git may be missing here. */
const local = new Set([
  'node_modules',
  'dist',
  'coverage',
  '.git',
  '.rookery',
  '.rookery-demo',
  '.wrangler',
])
const listFiles = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !local.has(entry.name) && !/^\.(env|dev\.vars)|\.log$/.test(entry.name))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? listFiles(path) : [path]
    })

const files = listFiles('')
const isText = (file: string) => !/\.(png|jpg|ico|woff2?)$/.test(file)
const read = (file: string) => readFileSync(join(root, file), 'utf8')

describe('the repository', () => {
  test('names no path of the machine it was written on', () => {
    const machinePath = /(^|[\s'"`(=])\/(work|tmp|home|root|Users)\/[\w.-]/m
    const own = files.filter((file) => isText(file) && !file.startsWith('tests/'))
    expect(own.length).toBeGreaterThan(20)
    expect(own.filter((file) => machinePath.test(read(file)))).toEqual([])
  })

  test('has a lockfile that names no registry, so that it installs from any', () => {
    const lockfiles = files.filter((file) => /(^|\/)package-lock\.json$/.test(file))
    expect(lockfiles.length).toBeGreaterThan(5)
    for (const file of lockfiles) expect(read(file)).not.toMatch(/"resolved":\s*"http/)
  })

  test('pins every package to one version', () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json'))
    const all = { ...dependencies, ...devDependencies, ...optionalDependencies }
    expect(Object.entries(all).filter(([, range]) => !/^\d/.test(String(range)))).toEqual([])
  })
})

describe('the packages of the Worker', () => {
  // They read `cloudflare:sockets` or Node's modules, which only the runtime has.
  const loadedAsFiles = new Set([
    'postgres',
    'nodemailer/lib/mime-node',
    'nodemailer/lib/smtp-connection',
  ])
  const importsOf = (file: string) =>
    [
      ...read(file).matchAll(
        /^(?:import|export) (?!type\b)[^']*?from '([^']+)'|import\('([^']+)'\)/gm,
      ),
    ]
      .map(([, named, dynamic]) => named ?? dynamic ?? '')
      .filter((name) => !/^\.|^(cloudflare|node):/.test(name))

  test('are bundled for its tests with every entry that it imports, so that no class exists twice', () => {
    const sources = files.filter((file) => /^src\/.*\.tsx?$/.test(file))
    const imported = new Set(sources.flatMap(importsOf))
    expect(imported.size).toBeGreaterThan(20)
    const missing = [...imported].filter(
      (name) => !bundledPackages.includes(name) && !loadedAsFiles.has(name),
    )
    expect(missing).toEqual([])
  })
})

describe('the documents', () => {
  const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('agents/'))

  test('link only to files that are there', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(root, dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  test('link only to headings that are there', () => {
    const listAnchors = (page: string) =>
      [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replace(/[^\w\s-]/g, '')
          .replace(/\s/g, '-'),
      )
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*\.md)?#([\w-]+)\)/g)]
        .filter(
          ([, file, anchor = '']) =>
            !listAnchors(file ? join(dirname(page), file) : page).includes(anchor),
        )
        .map(([link]) => `${page}: ${link}`),
    )
    expect(broken).toEqual([])
  })

  test('name only files of the source that are there', () => {
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:src|scripts|tests|migrations|agents|docs|bench)\/[\w./-]+)`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page}: ${path}`),
    )
    expect(missing).toEqual([])
  })

  test('name only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const unknown = pages.flatMap((page) =>
      [...read(page).matchAll(/npm run ([\w:-]+)/g)]
        .map(([, name = '']) => name)
        .filter((name) => scripts[name] === undefined)
        .map((name) => `${page}: npm run ${name}`),
    )
    expect(unknown).toEqual([])
  })

  test('have at most twenty pages of decisions, each listed, with what was tried and when to revisit', () => {
    const decisions = pages.filter((page) => /^docs\/decisions\/(?!README)/.test(page))
    const index = read('docs/decisions/README.md')
    expect(decisions.length).toBeGreaterThan(10)
    expect(decisions.length).toBeLessThanOrEqual(20)
    for (const page of decisions) {
      expect(index, page).toContain(`(${page.slice('docs/decisions/'.length)})`)
      for (const title of ['What holds', 'Tried', 'When to revisit']) {
        expect(read(page), page).toMatch(new RegExp(`^## ${title}$`, 'm'))
      }
    }
  })

  test('are all listed in docs/README.md', () => {
    const index = read('docs/README.md')
    const guides = pages.filter((page) => /^docs\/(?!README)[\w-]+\.md$/.test(page))
    expect(guides.filter((page) => !index.includes(`(${page.slice('docs/'.length)})`))).toEqual([])
  })
})

test('the agents that the hub takes for its own are the folders of agents/', () => {
  const folders = readdirSync(join(root, 'agents')).filter((name) => name !== 'skills')
  expect([...shippedAgents].sort()).toEqual(folders.sort())
})
