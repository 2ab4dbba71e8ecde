import { modelGateway } from '../../shared/config'

/**
 * Splits a stream of server-sent events into their data, whatever the chunks. Returns a function that takes the
 * next bytes; without bytes it ends the stream.
 *
 * @param onData receives the data of each event
 */
export function createEventSplitter(
  onData: (data: string) => void,
  charsMax: number = modelGateway.eventCharsMax,
): (bytes?: Uint8Array) => void {
  const decoder = new TextDecoder()
  let line: string[] = []
  let chars = 0
  let data: string[] = []
  let endsWithReturn = false

  const endEvent = () => {
    if (data.length > 0) onData(data.join('\n'))
    data = []
    chars = 0
  }
  const endLine = () => {
    const text = line.join('')
    line = []
    if (text === '') return endEvent()
    if (text.startsWith('data:') && chars <= charsMax) data.push(text.slice(5).replace(/^ /, ''))
  }
  const add = (text: string) => {
    chars += text.length
    if (chars <= charsMax && text !== '') line.push(text)
    // It cannot be read any more: its beginning is dropped too.
    if (chars > charsMax) data = []
  }

  const addText = (decoded: string) => {
    // A line ends with CR, LF or both, which chunks can separate.
    const text = endsWithReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded
    if (decoded !== '') endsWithReturn = decoded.endsWith('\r')
    const lines = text.split(/\r\n|\r|\n/)
    for (const [index, each] of lines.entries()) {
      add(each)
      if (index < lines.length - 1) endLine()
    }
  }

  return (bytes) => {
    if (bytes) return addText(decoder.decode(bytes, { stream: true }))
    addText(decoder.decode())
    endLine()
    endEvent()
  }
}
