import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const root = join(import.meta.dirname, '../..')
const require = createRequire(import.meta.url)
const startMsMax = 300_000

export interface RunningHub {
  url: string
  /** The sign-in link that `npm start` prints. */
  signInLink: string
  adminKey: string
  /** Data folder, deleted when the hub stops. */
  stateDir: string
  stop(): Promise<void>
}

/** Starts the hub like `npm start`, on a free port with its own data; `settings` are environment variables. */
export async function startHubForBrowser(
  settings: Record<string, string> = {},
): Promise<RunningHub> {
  const stateDir = mkdtempSync(join(tmpdir(), 'rookery-e2e-'))
  const adminKey = `e2e_admin_${crypto.randomUUID()}`
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
  const stop = async () => {
    await endProcess(child)
    rmSync(stateDir, { recursive: true, force: true })
  }
  try {
    const signInLink = await readSignInLink(child)
    return { url: new URL(signInLink).origin, signInLink, adminKey, stateDir, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function readSignInLink(child: ChildProcess): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not started:\n${output}`)), startMsMax)
    const read = (chunk: Buffer) => {
      output += chunk
      const link = /https?:\/\/\S+\/login\?token=[\w-]+/.exec(output)?.[0]
      if (!link) return
      clearTimeout(timer)
      resolve(link)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`ended with ${code}:\n${output}`))
    })
  })
}

function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return Promise.resolve()
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
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`)
  })
  return { page, errors }
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

/**
 * Returns what is wrong with the open page when it is wide or narrow, light or dark, a line each: findings of
 * axe, whatever scrolls sideways and choices that are cut off. The page is not loaded again; a dark page differs in colors only,
 * so only rules about colors run again.
 */
export async function findLayoutProblems(
  page: Page,
  takePicture: (name: string) => Promise<void> = async () => {},
): Promise<string[]> {
  const problems: string[] = []
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of ['light', 'dark'] as const) {
      // what arrived is coloured for a moment: only what stays is judged
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const rules = colorScheme === 'dark' ? colorRules : undefined
      const found = [
        ...(await findAxeViolations(page, rules)),
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
