import type { FC } from 'hono/jsx'
import type { PrivateFact, PrivateFile, PrivateMemory } from '../../agents/contract/agents'
import { formatBytes, formatDay } from '../../shared/format'
import { accountPath } from '../../shared/paths'

/** Id of the part of an agent's page with what the agent keeps for the viewer. */
export const privateMemoryId = 'private'

export interface PrivateMemoryBlockProps {
  /** The agent. */
  name: string
  /** Null: nothing is shown. */
  memory: PrivateMemory | null
}

/** What an agent keeps for the viewer alone, and what the viewer shared of it, with their choices. */
export const PrivateMemoryBlock: FC<PrivateMemoryBlockProps> = ({ name, memory }) => {
  if (memory === null) return null
  const { facts, files } = memory
  return (
    <section class="block" id={privateMemoryId} aria-labelledby="private-heading">
      <h2 id="private-heading">What {name} remembers only for you</h2>
      <p class="meta">
        From your direct messages and from tasks that you gave {name} by hand. Runs for others do
        not read it. Only you can share it, with everyone {name} works for; no agent can.
      </p>
      {facts.length + files.length === 0 && <p class="meta up2">Nothing.</p>}
      <ul class="list tall up2">
        {facts.map((fact) => (
          <FactRow name={name} fact={fact} />
        ))}
        {files.map((file) => (
          <FileRow name={name} file={file} />
        ))}
      </ul>
      <MorePages name={name} memory={memory} />
    </section>
  )
}

const FactRow: FC<{ name: string; fact: PrivateFact }> = ({ name, fact }) => (
  <li data-row>
    <div>{fact.text}</div>
    <p class="meta">
      {formatDay(fact.createdAt)}
      {fact.source !== '' && `, ${fact.source}`}
      <SharedNote sharedAt={fact.sharedAt} />
    </p>
    <ItemForm name={name} kind="fact" value={String(fact.id)} isShared={fact.sharedAt !== null} />
  </li>
)

const FileRow: FC<{ name: string; file: PrivateFile }> = ({ name, file }) => (
  <li data-row>
    <div>
      <code>{file.path}</code>
    </div>
    <p class="meta">
      {formatDay(file.updatedAt)}, {formatBytes(file.bytes)}
      <SharedNote sharedAt={file.sharedAt} />
    </p>
    <ItemForm name={name} kind="file" value={file.path} isShared={file.sharedAt !== null} />
  </li>
)

const SharedNote: FC<{ sharedAt: number | null }> = ({ sharedAt }) =>
  sharedAt === null ? null : (
    <>
      . <b>Shared by you on {formatDay(sharedAt)}.</b> If you make it private again, what was quoted
      meanwhile stays where it was quoted.
    </>
  )

/** Buttons of one fact, by its id, or of one file, by its path. */
const ItemForm: FC<{ name: string; kind: 'fact' | 'file'; value: string; isShared: boolean }> = (
  props,
) => {
  const { name, kind, value, isShared } = props
  return (
    <form class="acts up2" method="post" action={`${accountPath(name)}/private`}>
      <input type="hidden" name="kind" value={kind} />
      <input type="hidden" name={kind === 'fact' ? 'id' : 'path'} value={value} />
      <button type="submit" class="btn" name="change" value={isShared ? 'unshare' : 'share'}>
        {isShared ? 'Make private again' : 'Share'}
      </button>
      <button type="submit" class="btn" name="change" value="delete">
        Delete
      </button>
    </form>
  )
}

const MorePages: FC<{ name: string; memory: PrivateMemory }> = ({ name, memory }) => {
  const next = (query: Record<string, string>) =>
    `${accountPath(name)}?${new URLSearchParams(query)}#${privateMemoryId}`
  const fact = memory.hasMoreFacts ? memory.facts.at(-1) : undefined
  const file = memory.hasMoreFiles ? memory.files.at(-1) : undefined
  return (
    <>
      {fact && (
        <p class="pager">
          <a href={next({ facts_before: String(fact.id) })}>Older facts</a>
        </p>
      )}
      {file && (
        <p class="pager">
          <a href={next({ files_after: file.path })}>More files</a>
        </p>
      )}
    </>
  )
}
