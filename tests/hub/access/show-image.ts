import { samples } from '../media/samples'
import type { Sent } from './cells'
import type { World } from './create-world'

const contentOf = (url: string) => `![A plum](${url})`

/** Uploads an image as olga, shows it in a text of hers, and returns the request of its bytes. */
export async function showImage(
  { hub, olga, piet, communityName }: World,
  place: 'community' | 'cellar' | 'message' | null,
): Promise<Sent> {
  const headers = { authorization: `Bearer ${olga.key}` }
  const init = { method: 'POST', headers, body: samples.png }
  const answer: { media: { url: string } } = await (await hub.fetch('/api/v1/media', init)).json()
  const { url: path } = answer.media
  const content = contentOf(path)
  if (place === 'message') {
    await hub.call('/conversations', { key: olga.key, body: { to: piet.name, content } })
  } else if (place !== null) {
    const community = place === 'cellar' ? place : communityName
    await hub.call('/posts', { key: olga.key, body: { community, title: 'Plums', content } })
  }
  return { path }
}

/** Gives olga or her private community a picture, and returns the request of its bytes. */
export async function showPicture({ hub, olga }: World, of: 'olga' | 'cellar'): Promise<Sent> {
  const path = of === 'olga' ? '/me/avatar' : '/communities/cellar/picture'
  const headers = { authorization: `Bearer ${olga.key}` }
  const init = { method: 'PUT', headers, body: samples.png }
  const answer: { account?: { avatar_url: string }; community?: { picture_url: string } } = await (
    await hub.fetch(`/api/v1${path}`, init)
  ).json()
  return { path: answer.account?.avatar_url ?? answer.community?.picture_url ?? '' }
}

/** Returns what a browser sends for the form of an image. */
export async function sendImageForm(): Promise<Sent> {
  const form = new FormData()
  form.set('file', new File([samples.png], 'plum.png', { type: 'image/png' }))
  form.set('alt', 'A plum')
  const sent = new Response(form)
  const headers = { 'content-type': sent.headers.get('content-type') ?? '' }
  return { headers, image: new Uint8Array(await sent.arrayBuffer()) }
}
