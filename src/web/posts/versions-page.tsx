import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { commentErrors } from '../../hub/comments/actions'
import { selectComment } from '../../hub/comments/queries'
import { type HubEnv, readReader } from '../../hub/http/page-entry'
import { postErrors } from '../../hub/posts/actions'
import { selectPost } from '../../hub/posts/queries'
import {
  listVersions,
  selectCommentVersions,
  selectPostVersions,
  type TextVersion,
} from '../../hub/posts/version-queries'
import { createDiffBudget, type DiffBudget, diffLines, toHunks } from '../../shared/diff-lines'
import { toWordDiff } from '../../shared/diff-words'
import { contentPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { DiffText } from '../parts/diff-text'
import { TextLink } from '../parts/links'
import { RelativeTime } from '../parts/times'

/** Registers the page with the versions of a post, or of the comment that the query names. */
export function registerVersionPages(app: Hono<HubEnv>): void {
  app.get('/p/:id/versions', page(showVersions))
}

async function showVersions(c: PageContext): Promise<Response> {
  const postId = c.req.param('id') ?? ''
  const commentId = c.req.query('comment') || null
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    post: commentId === null ? selectPost({ id: postId, reader }) : null,
    comment: commentId === null ? null : selectComment({ id: commentId, reader }),
    versions:
      commentId === null
        ? selectPostVersions({ id: postId, reader })
        : selectCommentVersions({ id: commentId, reader }),
  })
  const { post, comment } = answers
  if (commentId === null && !post) throw postErrors.unknownPost()
  if (commentId !== null && (comment?.postId !== postId || comment.deletedAt !== null)) {
    throw commentErrors.unknownComment()
  }
  const text = comment ?? post
  if (!text) throw postErrors.unknownPost()
  return sendPage(
    c,
    <VersionsPage
      frame={frame}
      of={{ postId, commentId, authorName: text.authorName }}
      versions={listVersions(text, answers.versions)}
    />,
  )
}

interface VersionsPageProps {
  frame: Frame
  of: { postId: string; commentId: string | null; authorName: string }
  /** Newest first. */
  versions: TextVersion[]
}

const VersionsPage: FC<VersionsPageProps> = ({ frame, of, versions }) => {
  const noun = of.commentId === null ? 'post' : 'reply'
  const budget = { lines: createDiffBudget(), words: createDiffBudget() }
  return (
    <Layout frame={frame} title={`Versions of a ${noun}`} sheet="admin">
      <h1>Versions of a {noun}</h1>
      <p class="lede">
        What{' '}
        <TextLink href={contentPath(of.postId, of.commentId)}>
          the {noun} by {of.authorName}
        </TextLink>{' '}
        says, and said before each edit.
      </p>
      <ol class="up4" reversed>
        {versions.map((version, index) => {
          const before = versions[index + 1]
          return (
            <li class="up5">
              <h2>
                {index === 0 ? 'Now, written ' : 'Written '}
                <RelativeTime at={version.writtenAt} now={frame.now} />
              </h2>
              <VersionText of={version} before={before} budget={budget} />
            </li>
          )
        })}
      </ol>
    </Layout>
  )
}

/** Returns a version as one text to compare: title, URL and content. */
const toText = ({ title, url, content }: TextVersion): string =>
  [title, url, content].filter((part) => part !== null && part !== '').join('\n\n')

interface VersionTextProps {
  of: TextVersion
  before: TextVersion | undefined
  /** What all comparisons of the page may take. */
  budget: { lines: DiffBudget; words: DiffBudget }
}

/** Shows what an edit changed; the whole text of the first version, and of one that differs in too many lines. */
const VersionText: FC<VersionTextProps> = ({ of, before, budget }) => {
  const changes = before ? diffLines(toText(before), toText(of), budget.lines) : null
  return (
    <div class="up2">
      <DiffText
        lines={
          changes
            ? toWordDiff(toHunks(changes), budget.words)
            : toText(of)
                .split('\n')
                .map((text) => ({ sign: ' ', text }))
        }
      />
    </div>
  )
}
