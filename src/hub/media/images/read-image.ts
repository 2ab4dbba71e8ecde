/** The parts of an image that are kept, and what they show. */
export interface ReadImage {
  /** Pixels as it is shown: a photo that is turned has the sides of its turned picture. */
  width: number
  height: number
  /** Pictures that follow each other; 1 for a still. */
  frames: number
  bytes: Uint8Array<ArrayBuffer>
}
