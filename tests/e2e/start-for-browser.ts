import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import { copyMigratedData } from '../node/migrated-data.ts'
import { sample } from '../support/sample.ts'

const root = join(import.meta.dirname, '../..')
const require = createRequire(import.meta.url)
const startMsMax = 300_000
/** What a failed test shows of each hub and page. */
const shown = { lines: 40, chars: 3_000 }

export interface RunningHub {
  url: string
  /** The sign-in link that `npm start` prints. */
  signInLink: string
  adminKey: string
  /** Data folder, deleted when the hub stops. */
  stateDir: string
  stop(): Promise<void>
}

/** Hubs that run and pages that were opened in this file, for `describeFailure`. */
const hubs = new Set<{ output: string }>()
const pages = new Map<Page, string[]>()

/**
 * Starts the hub like `npm start`, on a free port with its own data, which is migrated; `settings` are environment
 * variables.
 */
export async function startHubForBrowser(
  settings: Record<string, string> = {},
): Promise<RunningHub> {
  const stateDir = mkdtempSync(join(tmpdir(), 'rookery-e2e-'))
  const adminKey = `e2e_admin_${crypto.randomUUID()}`
  await copyMigratedData(stateDir)
  const child = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      ROOKERY_STATE_DIR: stateDir,
      ROOKERY_ADMIN_KEY: adminKey,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { output: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      written.output += chunk
    })
  }
  hubs.add(written)
  const stop = async () => {
    await endProcess(child)
    hubs.delete(written)
    rmSync(stateDir, { recursive: true, force: true })
  }
  try {
    const signInLink = await readSignInLink(child, written)
    return { url: new URL(signInLink).origin, signInLink, adminKey, stateDir, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function readSignInLink(child: ChildProcess, written: { output: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(`${reason}:\n${written.output}`))
    const timer = setTimeout(() => fail('not started'), startMsMax)
    const read = () => {
      const link = /https?:\/\/\S+\/login\?token=[\w-]+(?=\s)/.exec(written.output)?.[0]
      if (!link) return
      clearTimeout(timer)
      resolve(link)
    }
    child.stdout?.on('data', read)
    child.once('close', (code) => {
      clearTimeout(timer)
      fail(`ended with ${code}`)
    })
  })
}

function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

/** Calls the API of a hub as its admin. @throws Error with the answer's text when it is refused */
export async function callApi<Body = unknown>(
  hub: RunningHub,
  method: string,
  path: string,
  body?: unknown,
): Promise<Body> {
  const response = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return (await response.json()) as Body
}

/** Debian's Chromium, or the one CHROMIUM_PATH names. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) {
    throw new Error('There is no Chromium: apt-get install chromium, or set CHROMIUM_PATH.')
  }
  return chromium.launch({
    executablePath,
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Opens a page and collects its errors. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const errors: string[] = []
  pages.set(page, errors)
  page.once('close', () => pages.delete(page))
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`)
  })
  return { page, errors }
}

/** Opens a page of somebody who has signed in with a key, by default that of the admin. */
export async function openSignedIn(
  browser: Browser,
  hub: RunningHub,
  options: Parameters<Browser['newContext']>[0] = {},
  key: string = hub.adminKey,
): Promise<{ context: BrowserContext; page: Page; errors: string[] }> {
  const context = await browser.newContext(options)
  const { page, errors } = await openPage(context)
  await page.goto(`${hub.url}/login`)
  await page.fill('#key', key)
  await page.click('form[action="/login"] button')
  await page.waitForURL(`${hub.url}/`)
  return { context, page, errors }
}

/**
 * Clicks what leads to another page, and waits for that: a click may return before the browser has begun to leave.
 *
 * @returns the status of the page
 */
export async function clickThrough(page: Page, target: Locator): Promise<number | undefined> {
  const [answer] = await Promise.all([page.waitForNavigation(), target.click()])
  return answer?.status()
}

/** Returns what helps to understand a failure: each open page with its errors, and the last lines of each hub. */
export async function describeFailure(): Promise<string> {
  const parts = [...pages].map(async ([page, errors]) => {
    const text = await page
      .locator('body')
      .ariaSnapshot({ timeout: 5_000 })
      .catch((error: Error) => `(no text: ${error.message.split('\n')[0]})`)
    const lines = text.slice(0, shown.chars)
    return [`-- page ${page.url()}`, lines, ...errors.map((error) => `error: ${error}`)].join('\n')
  })
  const logs = [...hubs].map(({ output }) => {
    const lines = output.trimEnd().split('\n').slice(-shown.lines)
    return ['-- hub', ...lines].join('\n')
  })
  return [...(await Promise.all(parts)), ...logs].join('\n')
}

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
/** The rules of axe whose answer depends on colors. */
const colorRules = ['color-contrast', 'link-in-text-block']

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string }[] }[]
}

/** Returns axe's findings on the page, one line each: of every rule, or of the given ones. */
export async function findAxeViolations(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axeSource)
  const results: AxeResults = await page.evaluate(
    `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })})`,
  )
  return results.violations.map(
    ({ id, impact, nodes }) => `${id} (${impact}): ${nodes.map(({ html }) => html).join(' ')}`,
  )
}

let pagesLookedAt = 0

/**
 * Returns what is wrong with the open page when it is wide or narrow, light or dark, a line each: findings of
 * axe, whatever scrolls sideways and choices that are cut off. The page is not loaded again; a dark page differs in colors only,
 * so only rules about colors run again. axe looks at half of the pages when they are wide, at the others when they are
 * narrow; at the other half with the next commits.
 */
export async function findLayoutProblems(
  page: Page,
  takePicture: (name: string) => Promise<void> = async () => {},
): Promise<string[]> {
  const problems: string[] = []
  const widths = [1280, 320]
  const widthsOfAxe = sample(widths, 1, pagesLookedAt++)
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of ['light', 'dark'] as const) {
      // what arrived is coloured for a moment: only what stays is judged
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const rules = colorScheme === 'dark' ? colorRules : undefined
      const found = [
        ...(widthsOfAxe.includes(width) ? await findAxeViolations(page, rules) : []),
        ...(await findOverflow(page)),
        ...(colorScheme === 'light' ? await findCutChoices(page) : []),
      ]
      problems.push(...found.map((line) => `${width} px, ${colorScheme}: ${line}`))
      await takePicture(`${width}-${colorScheme}`)
    }
  }
  return problems
}

/** Returns elements wider than the page; none when it does not scroll sideways. */
export const findOverflow = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const wide = [...document.querySelectorAll('body *')].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    )
    return ['the page', ...wide.map((element) => `${element.tagName}.${element.className}`)]
  })

/** Returns the choices in forms whose longest option is wider than the field. Those of filters begin with a short one. */
const findCutChoices = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLSelectElement>('.form select, .say select')].flatMap(
      (select) => {
        const whole = select.cloneNode(true) as HTMLSelectElement
        whole.style.cssText = 'position: absolute; width: max-content; max-width: none'
        select.after(whole)
        const [shown, needed] = [select.offsetWidth, whole.offsetWidth]
        whole.remove()
        return shown > 0 && needed > shown + 1 ? [`${select.name}: ${shown} of ${needed} px`] : []
      },
    ),
  )
