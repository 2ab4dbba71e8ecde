import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { samples } from '../hub/media/samples.ts'
import {
  findAxeViolations,
  launchBrowser,
  openPage,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

let hub: RunningHub
let browser: Browser
let page: Page
let errors: string[]

beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
  const opened = await openPage(await browser.newContext())
  page = opened.page
  errors = opened.errors
  await page.goto(`${hub.url}/login`)
  await page.fill('#key', hub.adminKey)
  await page.click('form[action="/login"] button')
  await page.waitForURL(`${hub.url}/`)
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

const png = { name: 'plum.png', mimeType: 'image/png', buffer: Buffer.from(samples.png) }

/** Pastes or drops an image into the text, as browsers report it. */
const give = (type: 'paste' | 'drop', base64: string) =>
  page.evaluate(
    ({ type, base64 }) => {
      const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
      const data = new DataTransfer()
      data.items.add(new File([bytes], `${type}.png`, { type: 'image/png' }))
      const init = { bubbles: true, cancelable: true }
      const event =
        type === 'paste'
          ? new ClipboardEvent('paste', { ...init, clipboardData: data })
          : new DragEvent('drop', { ...init, dataTransfer: data })
      document.querySelector('#content')?.dispatchEvent(event)
    },
    { type, base64 },
  )

/** Waits for the script, which a page loads when somebody is about to write. */
async function beginToWrite(text: string): Promise<void> {
  await page.locator('#content').pressSequentially(text)
  await page.waitForSelector('form[action="/posts-new"] [data-image]:not([target])')
}

test('H18: images are chosen, pasted and dropped into a post, described, and shown', async () => {
  await beginToWrite('Look: ')
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.click('form[action="/posts-new"] [data-image]'),
  ])
  await chooser.setFiles(png)
  await page.getByLabel(/^Describe plum\.png/).fill('a [ripe] plum')
  const text = page.locator('#content')
  await expect
    .poll(() => text.inputValue())
    .toMatch(/^Look: !\[a +ripe +plum\]\(\/media\/[\w-]+-16x8\)$/)
  await page.getByLabel(/^Describe plum\.png/).press('Enter')
  await text.press('End')
  await text.pressSequentially(' and ')
  for (const type of ['paste', 'drop'] as const) {
    await give(type, png.buffer.toString('base64'))
    await page.getByLabel(new RegExp(`^Describe ${type}\\.png`)).fill(type)
  }
  await expect.poll(() => text.inputValue()).toMatch(/plum\]\S+ and !\[paste\]\S+!\[drop\]\S+$/)
  expect(await findAxeViolations(page)).toEqual([])
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  const images = page.locator('.prose img')
  expect(await images.count()).toBe(3)
  await expect
    .poll(() =>
      images.evaluateAll((all) => all.map((each) => (each as HTMLImageElement).naturalWidth)),
    )
    .toEqual([16, 16, 16])
  expect(await findAxeViolations(page)).toEqual([])
  expect(errors).toEqual([])
})

test('H18: a browser sends the form that models see with an image that is too large for them', async () => {
  const given = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(2_400, 1_200)
    const context = canvas.getContext('2d')
    if (context) context.fillStyle = 'purple'
    context?.fillRect(0, 0, 1_200, 1_200)
    const blob = await canvas.convertToBlob({ type: 'image/png' })
    return [...new Uint8Array(await blob.arrayBuffer())]
  })
  await page.goto(`${hub.url}/`)
  await beginToWrite('Look: ')
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.click('form[action="/posts-new"] [data-image]'),
  ])
  const large = { name: 'large.png', mimeType: 'image/png', buffer: Buffer.from(given) }
  const forms: { width: number; height: number }[] = []
  const toForms = '**/media?reduced_of=*'
  await page.route(toForms, async (route) => {
    const response = await route.fetch()
    forms.push(((await response.json()) as { media: { width: number; height: number } }).media)
    await route.fulfill({ response })
  })
  await chooser.setFiles(large)
  await page.getByLabel(/^Describe large\.png/).fill('Purple')
  await expect.poll(() => page.locator('#content').inputValue()).toContain('-2400x1200)')
  expect(forms).toMatchObject([{ width: 1_568, height: 784 }])
  await page.unroute(toForms)
  await page.locator('#content').fill('')
  expect(errors).toEqual([])
})

test('H18: a browser shows each kind of image as it was, without its metadata', async () => {
  for (const [name, bytes] of Object.entries(samples)) {
    const compared = await page.evaluate(
      async ({ base64 }) => {
        const given = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
        const sent = await fetch('/api/v1/media', { method: 'POST', body: given })
        const { media } = (await sent.json()) as { media: { url: string } }
        const kept = await (await fetch(media.url)).blob()
        const read = async (image: Blob) => {
          const bitmap = await createImageBitmap(image)
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
          const context = canvas.getContext('2d')
          context?.drawImage(bitmap, 0, 0)
          const pixels = context?.getImageData(0, 0, bitmap.width, bitmap.height).data
          return `${bitmap.width}x${bitmap.height} ${pixels?.join()}`
        }
        const before = await read(new Blob([given]))
        return { isSame: (await read(kept)) === before, text: await kept.text() }
      },
      { base64: Buffer.from(bytes).toString('base64') },
    )
    expect(compared.isSame, name).toBe(true)
    expect(compared.text, name).not.toContain('SECRET')
  }
})

test('H18: a file that is no image is refused below the text, which stays', async () => {
  await page.goto(hub.url)
  await beginToWrite('Look: ')
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.click('form[action="/posts-new"] [data-image]'),
  ])
  await chooser.setFiles({ ...png, buffer: png.buffer.subarray(0, 60) })
  await page.getByText('plum.png: The file ends before its image does.').waitFor()
  expect(await page.locator('#content').inputValue()).toBe('Look: ')
})

test('H18: of a file that is refused again only the last error stands, and none once it is uploaded', async () => {
  await page.goto(hub.url)
  await beginToWrite('Look: ')
  const choose = async (...files: (typeof png)[]) => {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.click('form[action="/posts-new"] [data-image]'),
    ])
    await chooser.setFiles(files)
  }
  const rows = page.locator('form[action="/posts-new"] [role="status"]')
  const readRows = async () =>
    (await rows.allTextContents()).map((text) => text.split(':')[0]).sort()
  const broken = { ...png, buffer: png.buffer.subarray(0, 60) }
  const other = { ...broken, name: 'pear.png' }
  await choose(broken, other)
  await expect.poll(readRows).toEqual(['pear.png', 'plum.png'])
  await page.getByText('plum.png: The file ends').waitFor()
  await page.getByText('pear.png: The file ends').waitFor()
  await choose({ ...broken, buffer: Buffer.from('no image') })
  await page.getByText(/^plum\.png: (?!Uploading|The file ends)/).waitFor()
  expect(await readRows()).toEqual(['pear.png', 'plum.png'])
  await choose(png)
  await page.getByLabel(/^Describe plum\.png/).waitFor()
  expect(await rows.filter({ hasText: /^plum\.png:/ }).count()).toBe(0)
  expect(await rows.filter({ hasText: /^pear\.png:/ }).count()).toBe(1)
})
