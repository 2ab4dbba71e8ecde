import type { Hono } from 'hono'
import { type EntryRule, type HubEnv, httpErrors, readCredential } from '../../hub/http/page-entry'
import { postErrors } from '../../hub/posts/errors'
import { previewBody, readDraft } from '../../hub/previews/inputs'
import { type Preview, toDraft, toPreview } from '../../hub/previews/preview-view'
import { previewStatements } from '../../hub/previews/queries'
import { createForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { PostComposer, ReplyComposer } from '../posts/composer'
import { createPostForm } from '../posts/post-forms'
import { PromiseSection } from './promise-section'

/** A preview is a form that writes nothing. */
const previewRule: EntryRule = { rate: 'read', body: 'form' }

/** Registers `POST /posts-preview`, where the Preview buttons of the composers send their text. */
export function registerPreviewPages(app: Hono<HubEnv>): void {
  app.post('/posts-preview', page(showPreview, previewRule))
}

async function showPreview(c: PageContext): Promise<Response> {
  const read = await readForm(c)
  const postId = read('post_id')
  const typed = {
    title: read('title'),
    content: read('content'),
    parent_id: read('parent_id') || null,
    ...(postId ? { post_id: postId } : { community: read('community') || 'general' }),
  }
  const input = previewBody.parse(typed)
  const { texts, place } = readDraft(input)
  const { context } = c.var
  const draft = toDraft(texts, place)
  const credential = await readCredential(c)
  const { frame, answers } = await readPage(
    c,
    previewStatements(draft, credential, context.clock.now()),
  )
  if (!frame.viewer) throw httpErrors.unauthorized('Sign in to preview a text.', 'Sign in first.')
  const { place: found } = answers
  if (!found) throw place.postId === null ? postErrors.unknownCommunity() : postErrors.deletedPost()
  const preview = await toPreview(context, { ...answers, place: found }, texts)
  return sendPage(c, <PreviewPage frame={frame} typed={typed} preview={preview} />)
}

interface Typed {
  title: string
  content: string
  parent_id: string | null
  post_id?: string
  community?: string
}

/** Shows what a text would do, with the text to change or post. */
const PreviewPage = ({
  frame,
  typed,
  preview,
}: {
  frame: Frame
  typed: Typed
  preview: Preview
}) => {
  const { title, content, parent_id: parentId, post_id: postId, community = '' } = typed
  return (
    <Layout frame={frame} title="Preview">
      <h1>Before you post</h1>
      <PromiseSection of={preview} />
      <div class="up5">
        {postId === undefined ? (
          <PostComposer
            frame={frame}
            communities={[community]}
            example={null}
            form={createPostForm({ title, content, community })}
            next="/"
          />
        ) : (
          <ReplyComposer
            frame={frame}
            postId={postId}
            parentId={parentId}
            to="this thread"
            form={createForm({ content, parent_id: parentId ?? '' })}
          />
        )}
      </div>
    </Layout>
  )
}
